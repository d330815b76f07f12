"""The ground floor: settings, errors, and the values and rules that every memory shares.

Modules here import no other part of the package and open no database or socket. Only the settings read a file.
"""
