"""Tour of the memories."""
