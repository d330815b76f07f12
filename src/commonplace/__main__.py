"""``python -m commonplace``: the same as the ``commonplace`` command."""

from commonplace.cli.main import main

if __name__ == "__main__":
    main()
