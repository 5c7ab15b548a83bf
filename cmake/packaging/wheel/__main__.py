"""python -m posenc VERB: the program posenc, which the wheel has in it."""

from posenc import _main as main

if __name__ == "__main__":
    main()
