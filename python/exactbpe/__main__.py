"""``python -m exactbpe``: the command line."""

from exactbpe.cli import main

if __name__ == "__main__":
    main()
