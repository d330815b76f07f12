"""Decisions of operational memory. Pure: values in, values out; imports only the nouns and the judge."""
