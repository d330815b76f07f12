"""Carriers: what moves the files of devices. Each is one small file over the port in :mod:`.carrier`."""
