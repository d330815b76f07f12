"""``python -m commonplace``: the same as the ``commonplace`` command."""

from commonplace.cli.start import main

if __name__ == "__main__":
    main()
