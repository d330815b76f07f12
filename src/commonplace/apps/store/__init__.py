"""Storage of app memory: statements, and the functions that read and write rows; decides nothing."""
