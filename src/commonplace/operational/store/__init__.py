"""Storage of operational memory: statements, and the functions that read and write rows; decides nothing."""
