"""Mean score against distance, of the layers of a model: python3 curve.py config.json [curve.svg]

Draws with matplotlib where it is installed, and prints a table otherwise."""

import sys

import numpy

import posenc


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        raise SystemExit(__doc__)
    layers = {}  # alike ones once
    for layer in range(10_000):
        try:
            f = posenc.frequencies(arguments[0], layer)
        except posenc.Error as error:
            if layer > 0 and "layer must be below" in str(error):
                break
            raise SystemExit(error)
        if f is not None:
            layers.setdefault((f.inv_freq.tobytes(), f.window), (layer, f))
    if not layers:
        raise SystemExit(f"{arguments[0]}: no layer rotates")

    curves = []
    for layer, f in layers.values():
        distances = numpy.unique(numpy.geomspace(1, f.window or 131072, 400).astype(numpy.int64)) - 1
        curves.append((f"layer {layer}" + (f", window {f.window}" if f.window else ""), distances,
                       posenc.profile(f, distances)))
    try:
        import matplotlib
        matplotlib.use("svg")
        import matplotlib.pyplot as plot
    except ImportError:
        if len(arguments) == 2:
            raise SystemExit(f"{arguments[1]}: is not drawn without matplotlib")
        for name, distances, scores in curves:
            print(name)
            print("distance    score")
            for i in range(0, len(distances), 40):
                print(f"{distances[i]:8} {scores[i]:8.3f}")
        return
    for name, distances, scores in curves:
        plot.plot(distances + 1, scores, label=name)
    plot.xscale("log")
    plot.xlabel("distance + 1, tokens")
    plot.ylabel("mean score")
    plot.legend()
    path = arguments[1] if len(arguments) == 2 else "curve.svg"
    plot.savefig(path)
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
