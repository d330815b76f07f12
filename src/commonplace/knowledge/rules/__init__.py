"""Decisions of knowledge memory as pure functions: values in, values out, the clock a parameter."""
