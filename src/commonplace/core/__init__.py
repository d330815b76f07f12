"""Foundation of the package: settings, errors, and the values and rules that all memories share.

Modules here import no other part of the package and open no database or socket. Only the settings read a file.
"""
