"""That conformance.py is right of engines that are right, and names the mistakes of others. Runs by
itself and in pytest."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

import conformance
import numpy_engine

HERE = pathlib.Path(__file__).parent
CASES = conformance.cases()
SKIPPED = {str(case) for case in CASES
           if case.config["rope_parameters"]["rope_type"] not in numpy_engine.KEYS
           or "extrapolation" in case.config["rope_parameters"]}


def verdicts(rotate, precision="float32", accept=()):
    found = [conformance.verdict(case, rotate, precision, accept) for case in CASES]
    assert {one.case for one in found if one.status == "skipped"} == SKIPPED
    return {one.case: one for one in found if one.status != "skipped"}


def expect_wrong(rotate, names, mistake):
    """Exactly these cases are wrong, each by this mistake."""
    found = verdicts(rotate)
    wrong = {name for name, one in found.items() if one.status == "wrong"}
    assert wrong == names - SKIPPED, wrong ^ (names - SKIPPED)
    others = [str(found[name]) for name in wrong if found[name].mistakes != (mistake,)]
    assert not others, others


def test_the_right_engine_is_right_in_each_precision():
    assert len(CASES) - len(SKIPPED) >= 70
    for precision in ("float64", "float32", "float16"):
        others = [str(v) for v in verdicts(numpy_engine.rotate, precision).values()
                  if v.status != "right"]
        assert not others, others


def test_a_layout_is_named_where_the_model_has_the_other():
    names = {str(case) for case in CASES if case.config["layout"] == "interleaved"}
    expect_wrong(numpy_engine.all_halves, names, "halves-for-interleaved")


def test_a_lost_theta_is_named_where_it_is_another():
    names = {str(case) for case in CASES
             if case.config["rope_parameters"].get("rope_theta", 10000) != 10000}
    expect_wrong(numpy_engine.theta_lost, names, "theta-lost")


def test_float_angles_are_named_and_can_be_accepted():
    names = {str(case) for case in CASES if numpy.abs(case.positions).max() > 100_000}
    expect_wrong(numpy_engine.float_angles, names, "angles-in-float")
    accepted = verdicts(numpy_engine.float_angles, accept=["angles-in-float"]).values()
    assert not [v for v in accepted if v.status == "wrong"]


def test_each_mistake_is_named_or_one_that_does_the_same():
    def only(case, recipe):
        def rotate(x, positions, config):
            if config != case.config:  # so that no setting is without effect
                raise NotImplementedError
            return recipe.rotate(x)

        return rotate

    for name, mistake in conformance.MISTAKES.items():
        wrong = named = 0
        for case in CASES:
            for recipe in conformance.made(mistake, case, conformance.right(case)):
                found = conformance.verdict(case, only(case, recipe), "float64")
                wrong += found.status == "wrong"
                named += found.mistakes == (name,)
                assert found.status == "right" or len(found.mistakes) == 1, (name, str(found))
        assert named > 0.8 * wrong > 0, (name, named, wrong)


def test_a_setting_that_is_not_used_is_named():
    def factor_of_3(x, positions, config):
        parameters = {**config["rope_parameters"], "factor": 3}
        return numpy_engine.rotate(x, positions, {**config, "rope_parameters": parameters})

    def slower(x, positions, config):
        return numpy_engine.rotate(x, 0.7 * positions, config)

    case = next(case for case in CASES if str(case) == "linear")
    assert conformance.verdict(case, factor_of_3).mistakes == ("factor-without-effect",)
    assert conformance.verdict(case, slower).mistakes == ()


def test_bfloat16_rounds_to_the_nearest_and_ties_to_even():
    x = numpy.array([1 + 2**-8, 1 + 3 * 2**-8, 3.14159, -0.1])
    assert conformance.rounded(x, "bfloat16").tolist() == [1, 1 + 2**-6, 3.140625, -0.10009765625]


def test_names_are_those_of_the_programs():
    def names(file):
        text = (HERE / "../../examples" / file).read_text()
        return set(re.findall(r'\{"([a-z0-9-]+)",\s*["{]', text))

    mine = set(conformance.MISTAKES) | set(conformance.LOOSE)
    rotary, verdict = names("conformance/rotary_mistakes.cpp"), names("verdict/mistakes.cpp")
    assert rotary <= mine, rotary - mine
    mine_of_scores = set(conformance.ATTENTION_MISTAKES)
    of_layers = {"theta-lost", "nope-rotated"}
    assert verdict - mine - mine_of_scores == of_layers, verdict - mine - mine_of_scores
    assert mine <= rotary | verdict, mine - rotary - verdict
    of_scores = names("verdict/attention_mistakes.cpp")
    shared = {"window-missing", "window-one-larger", "window-one-smaller", "window-doubled",
              "chunk-missing", "causal-for-both", "causal-missing", "both-ways-missing",
              "window-cuts-images", "images-beyond-window", "cap-missing",
              "cap-after-mask", "sinks-missing", "score-factor-missing", "groups-modulo"}
    assert shared <= of_scores & mine_of_scores, shared - (of_scores & mine_of_scores)


def test_no_key_is_blamed_that_the_engine_honours():
    def other_list_at_the_edge(x, positions, config):
        p = config["rope_parameters"]
        at_edge = config.get("length") == p.get("original_max_position_embeddings")
        return numpy_engine.rotate(x, positions, {**config, "length": config["length"] + 1}
                                   if p["rope_type"] == "longrope" and at_edge else config)

    found = {name: one.mistakes for name, one in verdicts(other_list_at_the_edge).items()
             if one.status == "wrong"}
    assert found == dict.fromkeys(("longrope-short", "model-phi-3.5-mini", "model-phi-4-mini"),
                                  ("other-list",)), found

    def turned(x, positions, config):  # unlike every mistake
        return 1.1 * numpy_engine.rotate(x, 0.7 * positions, config)

    for case in CASES:
        if str(case) in ("yarn", "linear", "llama3", "proportional", "longrope-long",
                         "dynamic-within", "partial-yarn-last", "model-phi-4-mini"):
            found = conformance.verdict(case, turned)
            assert found.status == "wrong" and not found.mistakes, str(found)


STEPS = conformance.step_cases()


def test_the_right_engine_is_right_in_each_step():
    assert len(STEPS) == 25
    for case in STEPS:
        found = conformance.verdict(case, getattr(numpy_engine, case.function))
        assert found.status == "right", str(found)
    assert conformance.verdict(STEPS[0], None).status == "skipped"


def test_each_mistake_of_a_norm_is_named_or_one_that_does_the_same():
    names = set()
    for case in STEPS:
        if case.function != "norm_and_rotate":
            continue
        right = conformance.norm_and_rotated(case)
        assert numpy.abs(right - case.data["result"]).max() < 1e-12, str(case)
        for name, wrong in conformance.norm_mistakes(case).items():
            found = conformance.verdict(case, lambda *_: wrong, "float64")
            assert found.status == "right" or len(found.mistakes) == 1, (name, str(found))
            names.update(found.mistakes)
            if name.startswith("rounds-as"):
                assert found.mistakes == (name,), (name, str(found))
    assert names >= {"norm-after-rotation", "norm-before-rotation", "l2-for-rms", "rms-for-l2",
                     "plus-one", "plus-one-missing", "weights-missing", "eps-inside", "eps-outside",
                     "opposite-missing", "rotates-the-other-way"}, names


def test_each_mistake_of_a_format_is_named_or_one_that_does_the_same():
    def as_if(name):
        return lambda x, config: numpy_engine.encode(x, {**config, "format": name})

    for mine, other, mistake in (
            ("q8_0", "q8_0_avx2", "rounds-to-even"), ("q8_0_avx2", "q8_0", "ties-away"),
            ("int8_per_head", "int8_per_head_truncated", "rounds-to-zero"),
            ("int8_per_head_truncated", "int8_per_head", "rounds-to-even"),
            ("e4m3", "e4m3_truncated", "rounds-to-zero"),
            ("e4m3_truncated", "e4m3", "rounds-to-even")):
        case = next(case for case in STEPS if str(case) == f"format-{mine}")
        found = conformance.verdict(case, as_if(other))
        assert found.status == "wrong" and found.mistakes == (mistake,), str(found)
        accepted = conformance.verdict(case, as_if(other), accept=[mistake])
        assert accepted.status == "accepted", str(accepted)

    case = next(case for case in STEPS if str(case) == "format-int8_static")
    low = conformance.verdict(case, lambda x, c: numpy.maximum(numpy.frombuffer(
        numpy_engine.encode(x, c), numpy.int8), -127).tobytes())
    assert low.mistakes == ("least-code-is-127",), str(low)
    case = next(case for case in STEPS if str(case) == "format-u8_per_head")
    other_scale = conformance.verdict(
        case, lambda x, c: b"\1" + numpy_engine.encode(x, c)[1:])
    assert other_scale.status == "wrong" and not other_scale.mistakes, str(other_scale)
    for wrong, says in ((lambda x, c: b"", "byte 0 of the bytes of head 0 is missing"),
                        (lambda x, c: (b"", b""), "must give bytes of a head"),
                        (lambda x, c: {}["a"], "raises KeyError")):
        found = conformance.verdict(case, wrong)
        assert found.status == "wrong" and says in str(found), str(found)


ATTENTION = conformance.attention_cases()


def attention_verdicts(attend, precision="float32"):
    return {case.name: conformance.verdict(case, attend, precision) for case in ATTENTION}


def test_the_right_engine_is_right_in_attention():
    assert len(ATTENTION) == 32
    for precision in ("float64", "float32", "float16", "bfloat16"):
        others = [str(one) for one in attention_verdicts(numpy_engine.attend, precision).values()
                  if one.status != "right"]
        assert not others, others
    for case in ATTENTION:  # the judge's own formulas
        output, bounds = conformance.attended(case, 2.0**-53)
        assert (numpy.abs(output - case.output) <= bounds).all(), case.name


def test_each_mistake_of_attention_is_named():
    for name in conformance.ATTENTION_MISTAKES:
        wrong = named = 0
        for case in ATTENTION:
            for change in conformance.attention_changes(case, name):
                output = conformance.attended(case, **change)[0]
                found = conformance.verdict(case, lambda *_: output)
                wrong += found.status == "wrong"
                named += found.mistakes == (name,)
                assert found.status == "right" or len(found.mistakes) == 1, (name, str(found))
        assert named >= 0.5 * wrong > 0, (name, named, wrong)


def test_mistakes_planted_in_the_sample_are_named():
    def expect(attend, names, mistake):
        wrong = {name: one.mistakes for name, one in attention_verdicts(attend).items()
                 if one.status == "wrong"}
        assert wrong == dict.fromkeys(names, (mistake,)), (wrong, mistake)

    def with_config(change):
        return lambda q, k, v, config: numpy_engine.attend(q, k, v, {**config, **change(config)})

    # llama.cpp#29034, Megatron-Bridge#2656
    capped = {case.name for case in ATTENTION if "cap" in case.config}
    windows = {case.name for case in ATTENTION if "sliding_window" in case.config}
    assert len(capped) == 3 and len(windows) == 6
    expect(numpy_engine.cap_on_padding, capped, "cap-on-padding")
    expect(numpy_engine.window_is_behind, windows, "window-one-larger")
    expect(with_config(lambda c: {"sinks": numpy.full(4, -numpy.inf)} if "sinks" in c else {}),
           {"sinks", "sinks-and-window"}, "sinks-missing")
    expect(with_config(lambda c: {"ahead": 0}),
           {"encoder", "padding-on-the-right", "window-both-sides", "window-uneven",
            "alibi-both-sides"}, "causal-for-both")
    expect(lambda q, k, v, config: numpy_engine.attend(
        q, k[:, :1].repeat(k.shape[1], 1), v[:, :1].repeat(k.shape[1], 1), config),
        {case.name for case in ATTENTION if case.k.shape[1] > 1}, "first-kv-head")
    expect(lambda q, k, v, config: numpy_engine.attend(  # torch.repeat for repeat_interleave
        q, numpy.tile(k, (1, q.shape[1] // k.shape[1], 1)),
        numpy.tile(v, (1, q.shape[1] // k.shape[1], 1)), config),
        {case.name for case in ATTENTION if 1 < case.k.shape[1] < case.q.shape[1]},
        "groups-modulo")


def test_an_architecture_with_the_other_layout_is_named():
    cases = conformance.layout_cases()
    assert len(cases) > 250
    known = {case.name for case in cases
             if case.architecture in numpy_engine.LAYOUTS[case.kind]}
    assert len(known) == sum(map(len, numpy_engine.LAYOUTS.values())), known

    def wrong(layout_of):
        found = [conformance.verdict(case, layout_of) for case in cases]
        assert {one.case for one in found if one.status != "skipped"} == known
        return {one.case: one.mistakes for one in found if one.status == "wrong"}

    assert wrong(numpy_engine.layout_of) == {}
    slipped = known - {"general.architecture llama"}  # ik_llama.cpp#2290
    assert wrong(numpy_engine.all_interleaved) == dict.fromkeys(slipped,
                                                                ("interleaved-for-halves",))
    found = conformance.verdict(cases[0], lambda *_: "neox")
    assert found.status == "wrong" and not found.mistakes and "gives neox" in str(found)

    for case in cases:  # the same of rotate, which has the name alone
        try:
            one = conformance.architecture_case(case.kind, case.architecture)
        except KeyError as error:
            assert "must rotate one block of a head" in str(error), str(error)
            continue
        right = conformance.verdict(one, numpy_engine.rotate)
        other = conformance.verdict(one, numpy_engine.other_table)
        if case.name in known:
            assert right.status == "right", str(right)
            assert (other.mistakes == ("interleaved-for-halves",)) == (case.name in slipped)
        else:
            assert right.status == other.status == "skipped", (str(right), str(other))


def test_two_mistakes_of_attention_are_named_together():
    def attend(q, k, v, config):
        return numpy_engine.window_is_behind(q, k, v, {**config, "scale": 1})

    case = next(case for case in ATTENTION if case.name == "window")
    found = conformance.verdict(case, attend)
    assert found.mistakes == ("scale-missing", "window-one-larger"), str(found)
    found = conformance.verdict(case, lambda q, k, v, c: 3 * numpy_engine.attend(q, k, v, c))
    assert found.status == "wrong" and not found.mistakes, str(found)
    found = conformance.verdict(case, lambda q, *_: q[:2])
    assert "must be of shape (8, 4, 8), is (2, 4, 8)" in str(found), str(found)


def test_every_mistake_has_a_sentence():
    run = subprocess.run([sys.executable, HERE / "conformance.py", "--list-mistakes"], text=True,
                         capture_output=True)
    listed = {line.split()[0]: line[28:].strip() for line in run.stdout.splitlines()}
    tables = (conformance.MISTAKES, conformance.LOOSE, conformance.ATTENTION_MISTAKES)
    for name in itertools.chain(*tables, *(conformance.norm_mistakes(case) for case in STEPS
                                           if case.function == "norm_and_rotate")):
        assert listed.get(name), name
    for file in ("rotary_mistakes.cpp", "score_mistakes.cpp"):  # sentences are the program's
        text = (HERE / "../../examples/program/conformance" / file).read_text()
        text = re.sub(r'"\s*\n\s*"', "", text)
        said = dict(reversed(re.findall(r'\{"([a-z0-9-]+)",\s*"([^"]*)"', text)))
        for name, says in said.items():  # the first of each name
            assert listed.get(name, says) == says, (name, says)


def fits(x, schema, root):
    """What of JSON Schema the file schema.json uses."""
    types = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int,
             "boolean": bool, "null": type(None)}
    if schema is True:
        return True
    if "$ref" in schema and not fits(x, root["$defs"][schema["$ref"].split("/")[-1]], root):
        return False
    wanted = schema.get("type", [])
    if wanted and not any(isinstance(x, types[t]) and (t == "boolean") == isinstance(x, bool)
                          for t in ([wanted] if isinstance(wanted, str) else wanted)):
        return False
    holds = {"enum": lambda s: x in s, "const": lambda s: x == s, "minItems": lambda s: len(x) >= s,
             "maxItems": lambda s: len(x) <= s, "minimum": lambda s: x >= s,
             "exclusiveMinimum": lambda s: x > s, "pattern": lambda s: re.search(s, x),
             "required": lambda s: set(s) <= set(x), "items": lambda s: all(
                 fits(one, s, root) for one in x),
             "properties": lambda s: all(fits(x[key], s[key], root) for key in set(s) & set(x)),
             "additionalProperties": lambda s: s or set(x) <= set(schema["properties"]),
             "anyOf": lambda s: any(fits(x, one, root) for one in s)}
    ignored = {"$schema", "$defs", "$ref", "title", "type", "if", "then", "else"}
    if not all(holds[key](value) for key, value in schema.items() if key not in ignored):
        return False
    if "if" in schema:
        return fits(x, schema["then" if fits(x, schema["if"], root) else "else"], root)
    return True


def test_the_schema_is_that_of_all_cases():
    schema = json.loads((HERE / "schema.json").read_text())
    files = [file for folder in ("cases", "steps", "attention")
             for file in (HERE / folder).glob("*.json")]
    assert len(files) > 150
    for file in files:
        case = json.loads(file.read_text())
        assert fits(case, schema, schema), file.name
        assert not fits({**case, "another": 1}, schema, schema), file.name
        assert not fits({**case, "source": []}, schema, schema), file.name


def test_check_is_for_pytest():
    case = next(case for case in CASES if str(case) == "default-interleaved")
    conformance.check(case, numpy_engine.rotate)
    for one in STEPS + ATTENTION:
        conformance.check(one, getattr(numpy_engine, one.function))
    for rotate, says in ((numpy_engine.all_halves, "halves-for-interleaved"),
                         (lambda x, *_: x[:1], "must be of shape (7, 32), is (1, 32)"),
                         (lambda x, *_: x * numpy.nan, "is nan, must be"),
                         (lambda x, *_: {}["a"], "raises KeyError: 'a'")):
        try:
            conformance.check(case, rotate)
        except AssertionError as error:
            assert says in str(error), str(error)
        else:
            raise AssertionError(f"must be wrong: {says}")

    def refuses(*_):
        raise NotImplementedError

    try:
        conformance.check(case, refuses)
    except unittest.SkipTest:
        return
    raise AssertionError("must be skipped")


def test_a_heads_own_memory_may_be_changed():
    def in_place(x, positions, config):
        x[:] = numpy_engine.rotate(x, positions, config)

    assert all(one.status == "right" for one in verdicts(in_place).values())


def test_without_numpy_the_command_says_so():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "numpy.py").write_text("raise ImportError('none here')")
        run = subprocess.run([sys.executable, "-B", HERE / "conformance.py", "engine.py"],
                             text=True, capture_output=True,
                             env={**os.environ, "PYTHONPATH": folder})
    assert run.returncode == 2 and run.stdout == ""
    assert run.stderr == "conformance.py: NumPy must be installed, got: none here\n", run.stderr


def test_the_command_says_it_by_its_exit_status():
    def run(*arguments):
        return subprocess.run([sys.executable, HERE / "conformance.py", *arguments],
                              capture_output=True, text=True)

    engine = str(HERE / "numpy_engine.py")
    good, bad = run(engine), run(engine + ":all_halves")
    assert good.returncode == 0 and " 0 wrong" in good.stdout, good
    assert bad.returncode == 1 and "WRONG    model-glm-4-9b-chat: halves-for-" in bad.stdout, bad
    far = run(engine + ":float_angles")
    assert far.returncode == 1 and re.search(
        r"\n[1-9][0-9]* of the wrong form angles in float, .*: --accept angles-in-float\n$",
        far.stdout), far
    assert run(engine + ":float_angles", "--accept", "angles-in-float").returncode == 0
    slip = run(engine + ":other_table", "--architecture", "qwen3")
    assert slip.returncode == 1 and slip.stdout.startswith(
        "WRONG    general.architecture qwen3: interleaved-for-halves\n"), slip
    assert run(engine, "--architecture", "qwen3", "--model-type", "llama").returncode == 0
    unknown = run(engine, "--architecture", "nobody")
    assert unknown.returncode == 2 and "nobody must be the general.architecture" in unknown.stderr
    window = run(engine + ":attend=window_is_behind")
    assert window.returncode == 1 and "WRONG    window: window-one-larger" in window.stdout, window
    for arguments in (["no.py"], [engine + ":no"], [engine, "--cases", "no"], ["no.txt"], [],
                      [engine + ":no=attend"]):
        assert run(*arguments).returncode == 2, arguments


def test_the_page_shows_what_is_said():
    def without_factor(x, positions, config):
        factor = numpy_engine.frequencies(config)[1]
        return numpy_engine.float_angles(x, positions, config) / factor

    page = (HERE / "README.md").read_text()
    for name, rotate in (("model-glm-4-9b-chat", numpy_engine.all_halves), ("yarn", without_factor),
                         ("model-llama-3.1-8b", numpy_engine.theta_lost)):
        case = next(case for case in CASES if str(case) == name)
        says = str(conformance.verdict(case, rotate))
        assert says in page, says
    assert f"all {len(CASES) - len(SKIPPED)} cases" in page

    for name, attend in (("window", numpy_engine.window_is_behind),
                         ("cap-65-keys", numpy_engine.cap_on_padding)):
        says = str(conformance.verdict(next(c for c in ATTENTION if c.name == name), attend))
        assert says in page, says

    def even(x, config):
        return numpy_engine.encode(x, {**config, "format": "q8_0_avx2"})

    def unrounded(x, positions, config):
        return numpy_engine.norm_and_rotate(x, positions, {**config, "rounding": []})

    for name, function in (("format-q8_0", even), ("rounding-separate-calls", unrounded)):
        case = next(case for case in STEPS if str(case) == name)
        says = str(conformance.verdict(case, function))
        assert says in page, says


if __name__ == "__main__":
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        test()
    print(f"{len(tests)} tests passed")
