"""The ground floor: settings, and the values, rules and words that every memory shares.

Nothing here opens a database or a socket, only the settings read a file, and nothing here imports another part of the
package.
"""
