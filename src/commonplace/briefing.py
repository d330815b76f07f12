"""One prompt block from all four memories under one budget."""
