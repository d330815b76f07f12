"""Decisions of app memory. Pure: values in, values out; imports only the nouns."""
