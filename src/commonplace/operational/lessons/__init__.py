"""Learning, correcting and showing lessons: ties the judge, the rules and the rows together."""
