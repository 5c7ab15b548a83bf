//! The cases that C++, C and Python compute, in Rust: the bits of cases.c, by one thread and by
//! three, and the sentences of errors.
use posenc::*;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: usize = 16;

struct Case<'a>(Vec<(&'a str, &'a str)>, &'a [String]);
impl<'a> Case<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| *value)
    }
    fn number(&self, name: &str, otherwise: f64) -> f64 {
        self.text(name).map_or(otherwise, |x| x.parse().unwrap())
    }
    fn size(&self, name: &str, otherwise: usize) -> usize {
        self.number(name, otherwise as f64) as usize
    }
    fn is(&self, name: &str) -> bool {
        self.text(name).map_or(false, |x| x != "0")
    }
    /// Numbers of heads, if the case has the field.
    fn of_heads(&self, name: &str, n: u64, change: impl Fn(f64) -> f64) -> Option<Vec<f64>> {
        let given = self.text(name)?;
        let mut all: Vec<f64> = numbers(self.size("heads", 4), n)
            .iter()
            .map(|x| change(*x))
            .collect();
        if given == "nan" {
            all[0] = f64::NAN;
        }
        Some(all)
    }
}

fn numbers(count: usize, n: u64) -> Vec<f64> {
    let number = |x: u64| ((13 * x + 7 * n + x * x * (n + 2)) % 97) as f64 / 32.0 - 1.5;
    (0..count as u64).map(number).collect()
}
/// The bits of a number that 16 bits hold.
fn f16(x: f64) -> F16 {
    let bits = (x as f32).to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    F16(match bits & 0x7fff_ffff {
        0 => sign,
        0x7f80_0000 => sign | 0x7c00,
        rest => sign | ((rest - (112 << 23)) >> 13) as u16,
    })
}
fn bf16(x: f64) -> Bf16 {
    Bf16(((x as f32).to_bits() >> 16) as u16)
}
fn digest(value: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(value, |v, b| {
        (v ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)
    })
}
fn bytes<T>(x: &[T]) -> &[u8] {
    unsafe { std::slice::from_raw_parts(x.as_ptr() as *const u8, std::mem::size_of_val(x)) }
}

/// Heads of any type.
enum Store {
    F32(Vec<f32>),
    F64(Vec<f64>),
    F16(Vec<F16>),
    Bf16(Vec<Bf16>),
    Cache(Pages, Vec<i64>),
}
impl Store {
    fn of(kind: &str, x: Vec<f64>) -> Self {
        match kind {
            "f32" => Store::F32(x.iter().map(|x| *x as f32).collect()),
            "f64" => Store::F64(x),
            "f16" => Store::F16(x.iter().map(|x| f16(*x)).collect()),
            "bf16" => Store::Bf16(x.iter().map(|x| bf16(*x)).collect()),
            _ => panic!("a type must be f32, f64, f16 or bf16, got {kind}"),
        }
    }
    /// Keys or values, in pages if a cache is asked for.
    fn source(case: &Case, tokens: usize, dim: usize, n: u64) -> Result<Self> {
        let (kind, heads) = (case.text("keys").unwrap_or("f32"), case.size("kv_heads", 2));
        let x = numbers(tokens * heads * dim, n);
        let format = match kind {
            "q8_0" => Format::Q8_0,
            "q4_0" => Format::Q4_0,
            "q5_1" => Format::Q5_1,
            "iq4_nl" => Format::Iq4Nl,
            "int4_per_head" => Format::Int4PerHead,
            "int8_per_head" => Format::Int8PerHead,
            "u8_per_head" => Format::U8PerHead,
            "cached_f16" => Format::F16,
            _ => return Ok(Self::of(kind, x)),
        };
        let pages = (tokens + PAGE - 1) / PAGE;
        let mut cache = Pages::new(format, pages, PAGE, heads, dim)?;
        let slot = |t: usize| match case.is("slots") && t % 6 == 5 {
            true => -1,
            false => ((pages - 1 - t / PAGE) * PAGE + t % PAGE) as i64,
        };
        let slots: Vec<i64> = (0..tokens).map(slot).collect();
        let from: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let step = Operand::to(
            Heads::of(&from, heads, dim)?,
            cache.at_mut(&slots)?,
            Layout::Unrotated,
        );
        rotate::<f32>(None, &[step.hadamard(0, case.size("hadamard", 0))])?;
        Ok(Store::Cache(cache, slots))
    }
    fn view(&self, heads: usize, dim: usize) -> Result<Heads> {
        match self {
            Store::F32(x) => Heads::of(x, heads, dim),
            Store::F64(x) => Heads::of(x, heads, dim),
            Store::F16(x) => Heads::of(x, heads, dim),
            Store::Bf16(x) => Heads::of(x, heads, dim),
            Store::Cache(pages, slots) => pages.at(slots),
        }
    }
    fn view_mut(&mut self, heads: usize, dim: usize) -> Result<HeadsMut> {
        match self {
            Store::F32(x) => HeadsMut::of(x, heads, dim),
            Store::F64(x) => HeadsMut::of(x, heads, dim),
            Store::F16(x) => HeadsMut::of(x, heads, dim),
            Store::Bf16(x) => HeadsMut::of(x, heads, dim),
            Store::Cache(pages, slots) => pages.at_mut(slots),
        }
    }
    fn bytes(&self) -> &[u8] {
        match self {
            Store::F32(x) => bytes(x),
            Store::F64(x) => bytes(x),
            Store::F16(x) => bytes(x),
            Store::Bf16(x) => bytes(x),
            Store::Cache(pages, _) => pages.bytes(),
        }
    }
}

fn frequencies_of(case: &Case) -> Result<Frequencies> {
    let f = || Frequencies::of_base(case.size("dim", 32), 1e4);
    let (kind, list) = match case.text("axes") {
        None => return f(),
        Some(given) => given.split_once(':').unwrap(),
    };
    let given = |x: &str| {
        x.split(',')
            .map(|x| x.parse().unwrap())
            .collect::<Vec<f64>>()
    };
    if kind == "axial" {
        let (dims, bases) = (given(list), given(case.text("bases").unwrap()));
        let base = match bases[..] {
            [base] => Parameter::Number(base),
            _ => Parameter::List(&bases),
        };
        return Frequencies::of_rule(
            None,
            "axial",
            &[("dims", Parameter::List(&dims)), ("base", base)],
        );
    }
    let kinds = [
        "by_pair",
        "contiguous",
        "interleaved",
        "ggml",
        "ggml_interleaved",
    ];
    let axes = kinds.iter().position(|k| *k == kind).unwrap();
    f()?.on_axes(
        axes as u32,
        &given(list).iter().map(|x| *x as usize).collect::<Vec<_>>(),
    )
}

fn rows_of(case: &Case) -> Result<u64> {
    let (tokens, heads, dim) = (
        case.size("rows", 0),
        case.size("heads", 4),
        case.size("dim", 32),
    );
    let (axes, maker) = match case.text("mixed").and_then(|m| m.split_once(':')) {
        None => {
            let f = frequencies_of(case)?;
            (f.axes(), RowMaker::new(&f, 0)?)
        }
        Some((heads, axes)) => {
            let (heads, axes): (usize, usize) = (heads.parse().unwrap(), axes.parse().unwrap());
            let inv_freq = numbers(heads * axes * dim / 2, 14);
            (axes, RowMaker::mixed(heads, axes, &inv_freq, 1.0)?)
        }
    };
    let at = |i: usize| {
        (1000 * (i % tokens) + 7 * (i / tokens) * (i % tokens) + 5 * (i / tokens)) as i64
    };
    let whole: Vec<i64> = (0..axes * tokens).map(at).collect();
    fn write<'m, T: Real>(case: &Case, maker: &'m RowMaker, whole: &[i64]) -> Result<Rows<'m, T>> {
        match case.text("fraction") {
            None => maker.rows(whole, None),
            Some(of) => {
                let of: f64 = of.parse().unwrap();
                let parts: Vec<f64> = whole.iter().map(|x| *x as f64 / of).collect();
                maker.fractional_rows(&parts, None)
            }
        }
    }
    let rows = write::<f32>(case, &maker, &whole)?;
    let mut value = digest(SEED, bytes(&rows.cos_sin));
    if case.text("mixed").is_some() {
        let mut q: Vec<f32> = numbers(tokens * heads * dim, 1)
            .iter()
            .map(|x| *x as f32)
            .collect();
        let all = HeadsMut::of(&mut q, heads, dim)?;
        rotate(Some(&rows), &[Operand::in_place(all, Layout::Halves)])?;
        value = digest(value, bytes(&q));
    }
    Ok(digest(
        value,
        bytes(&write::<f64>(case, &maker, &whole)?.cos_sin),
    ))
}
const SEED: u64 = 0xcbf2_9ce4_8422_2325;

enum Kept {
    Of32(Vec<f32>, Vec<f32>),
    Of64(Vec<f64>, Vec<f64>),
}
/// Results of one sequence.
struct Found {
    outputs: Store,
    log_sum_exp: Vec<f64>,
    kept: Kept,
}

/// Where `added` is: -infinity hides a key.
struct CellsOfCase {
    kind: &'static str,
    shown: Vec<u8>,
    added: Option<Store>,
    slopes: Option<Vec<f64>>,
    heads: usize,
}
impl CellsOfCase {
    fn of(case: &Case, name: &str, n: u64, queries: usize, tokens: usize) -> Option<Self> {
        let kinds = ["bool", "bit", "f32", "f64", "f16", "bf16"];
        let kind = case
            .text(name)
            .map(|kind| kinds.iter().find(|k| **k == kind).unwrap())?;
        let heads = case.size("mask_heads", 1);
        let x = numbers(heads * queries * tokens, n);
        let row = if *kind == "bit" {
            (tokens + 7) / 8
        } else {
            tokens
        };
        let mut shown = vec![0u8; heads * queries * row];
        for (i, x) in x.iter().enumerate().filter(|(_, x)| **x >= -0.75) {
            match *kind {
                "bit" => shown[i / tokens * row + i % tokens / 8] |= 1 << (i % tokens % 8),
                _ => shown[i] = (*x >= -0.75) as u8,
            }
        }
        let hidden = |x: &f64| if *x < -0.75 { f64::NEG_INFINITY } else { *x };
        let added = match *kind {
            "bool" | "bit" => None,
            kind => Some(Store::of(kind, x.iter().map(hidden).collect())),
        };
        let slopes = case.of_heads("mask_slopes", 9, |x| x);
        Some(CellsOfCase {
            kind,
            shown,
            added,
            slopes,
            heads,
        })
    }
    fn cells(&self) -> Cells {
        let (heads, shown, slopes) = (self.heads, &self.shown[..], self.slopes.as_deref());
        match &self.added {
            None if self.kind == "bit" => Cells::Bit { shown, heads },
            None => Cells::Bool { shown, heads },
            Some(Store::F32(added)) => Cells::F32 {
                added,
                heads,
                slopes,
            },
            Some(Store::F64(added)) => Cells::F64 {
                added,
                heads,
                slopes,
            },
            Some(Store::F16(added)) => Cells::F16 {
                added,
                heads,
                slopes,
            },
            Some(Store::Bf16(added)) => Cells::Bf16 {
                added,
                heads,
                slopes,
            },
            Some(Store::Cache(..)) => unreachable!(),
        }
    }
}

fn attended(case: &Case, threads: usize) -> Result<u64> {
    let (queries, heads, kv_heads) = (
        case.size("queries", 1),
        case.size("heads", 4),
        case.size("kv_heads", 2),
    );
    let (dim, value_dim) = (case.size("dim", 32), case.size("value_dim", 32));
    let kind = case.text("type").unwrap_or("f32");
    let lengths: Vec<usize> = match case.text("lengths") {
        None => vec![case.size("tokens", 37)],
        Some(given) => given.split(',').map(|n| n.parse().unwrap()).collect(),
    };
    let key_bias = match case.size("key_bias", 0) {
        0 => None,
        block => {
            let f = frequencies_of(case)?;
            let bias: Vec<f32> = numbers(kv_heads * dim, 11)
                .iter()
                .map(|x| *x as f32)
                .collect();
            let shape = (kv_heads, heads, dim);
            let of_text = KeyBias::new(&f, &bias, shape, Layout::Halves, 0, block)?;
            if f.axes() > 1 {
                let at = |i: i64| match (i / 60, i % 60) {
                    (0, t) => t / 12,
                    (1, t) => t / 12 + t % 12 / 4,
                    (_, t) => t / 12 + t % 4,
                };
                Some(of_text.at(&(0..180).map(at).collect::<Vec<_>>(), -40)?)
            } else {
                Some(of_text)
            }
        }
    };
    let slopes = case.of_heads("slopes", 6, |x| x.abs() * 0.25);
    let sinks = case.of_heads("sinks", 7, |x| x);
    let ssmax = case.of_heads("temperature", 8, |x| x.abs() + 0.125);
    let mut temperature = Temperature::default();
    if let Some(given) = case.text("temperature") {
        let mut parts = given.split(':');
        let rule = parts.next().unwrap();
        temperature.rule = 1 + case.1.iter().position(|r| r == rule).unwrap() as u32;
        let mut next = || parts.next().map_or(0.0, |x| x.parse().unwrap());
        (temperature.length, temperature.scale, temperature.offset) = (next(), next(), next());
        if rule == "ssmax" {
            temperature.scales = ssmax.as_deref();
        }
    }
    let first = case.text("first").map(|x| x.parse::<i64>().unwrap());
    let at_queries: Option<Vec<i64>> = first.map(|x| (x..x + queries as i64).collect());
    let bank: Vec<f32> = numbers(60, 12).iter().map(|x| *x as f32).collect();

    let (mut found, mut of) = (Vec::new(), Vec::new());
    for (b, tokens) in lengths.iter().enumerate() {
        let n = 10 * b as u64;
        let mut q = Store::of(kind, numbers(queries * heads * dim, 1 + n));
        hadamard(q.view_mut(heads, dim)?, case.size("hadamard", 0))?;
        let k = Store::source(case, *tokens, dim, 2 + n)?;
        let v = Store::source(case, *tokens, value_dim, 3 + n)?;
        let at_keys: Option<Vec<i64>> = first.map(|_| {
            (0..*tokens)
                .map(|t| (t * case.size("stretch", 1)) as i64)
                .collect()
        });
        let side: Vec<f32> = numbers(queries * heads * 3, 13 + n)
            .iter()
            .map(|x| *x as f32)
            .collect();
        let mask = CellsOfCase::of(case, "mask", 4 + n, queries, *tokens);
        let bias = CellsOfCase::of(case, "bias", 5 + n, queries, *tokens);
        of.push((q, k, v, at_keys, side, mask, bias));
        let rows = if case.is("records") {
            queries * heads
        } else {
            0
        };
        let sums = if case.is("gradients") {
            queries * heads
        } else {
            rows
        };
        found.push(Found {
            outputs: Store::of(kind, vec![0.0; queries * heads * value_dim]),
            log_sum_exp: vec![0.0; sums],
            kept: match kind {
                "f64" => Kept::Of64(vec![0.0; rows * tokens], vec![0.0; rows * tokens]),
                _ => Kept::Of32(vec![0.0; rows * tokens], vec![0.0; rows * tokens]),
            },
        });
    }
    let mut all = Vec::new();
    for ((q, k, v, at_keys, side, mask, bias), to) in of.iter().zip(&mut found) {
        let options = Options {
            scale: case.number("scale", 0.0),
            factor: case.number("factor", 0.0),
            cap: case.number("cap", 0.0),
            tau: case.number("tau", 0.0),
            behind: case.size("behind", 0),
            ahead: match (case.is("causal"), case.size("ahead", 0)) {
                (true, _) => 0,
                (false, 0) => sys::POSENC1_ALL_AHEAD,
                (false, n) => n - 1,
            },
            chunk: case.size("chunk", 0),
            dot_products: case.is("dots"),
            query_positions: at_queries.as_deref(),
            key_positions: at_keys.as_deref(),
            slopes: slopes.as_deref(),
            sinks: sinks.as_deref(),
            mask: mask.as_ref().map(|m| m.cells()),
            bias: bias.as_ref().map(|m| m.cells()),
            temperature,
            key_bias: key_bias.as_ref(),
            profiles: case.is("profiles").then(|| Profiles {
                profiles: &bank,
                rank: 3,
                query_side: side,
            }),
        };
        let (k, v) = (k.view(kv_heads, dim)?, v.view(kv_heads, value_dim)?);
        let outputs = to.outputs.view_mut(heads, value_dim)?;
        let a = Attention::new(q.view(heads, dim)?, k, v, outputs, &options)?;
        all.push(match (case.is("records"), &mut to.kept) {
            (false, _) if !case.is("gradients") => a,
            (false, Kept::Of64(..)) => a.record::<f64>(Some(&mut to.log_sum_exp), None, None)?,
            (false, _) => a.record::<f32>(Some(&mut to.log_sum_exp), None, None)?,
            (true, Kept::Of32(s, w)) => a.record(Some(&mut to.log_sum_exp), Some(s), Some(w))?,
            (true, Kept::Of64(s, w)) => a.record(Some(&mut to.log_sum_exp), Some(s), Some(w))?,
        });
    }
    let mut memory = Vec::new();
    match threads {
        1 => all.iter_mut().try_for_each(|a| a.attend(&mut memory))?,
        _ => attend_by_threads(&mut all, threads, &mut memory)?,
    }
    let mut gradients = Vec::new();
    for (b, a) in all.iter_mut().enumerate().filter(|_| case.is("gradients")) {
        let n = numbers(queries * heads * value_dim, 16 + 10 * b as u64);
        let d = Store::of(kind, n);
        gradients.push(if kind == "f64" {
            let d = a.backward::<f64>(d.view(heads, value_dim)?, &mut memory)?;
            [bytes(&d.queries), bytes(&d.keys), bytes(&d.values)].concat()
        } else {
            let d = a.backward::<f32>(d.view(heads, value_dim)?, &mut memory)?;
            [bytes(&d.queries), bytes(&d.keys), bytes(&d.values)].concat()
        });
    }
    Ok(found.iter().enumerate().fold(SEED, |value, (b, f)| {
        let value = digest(digest(value, f.outputs.bytes()), bytes(&f.log_sum_exp));
        let value = match &f.kept {
            Kept::Of32(s, w) => digest(digest(value, bytes(s)), bytes(w)),
            Kept::Of64(s, w) => digest(digest(value, bytes(s)), bytes(w)),
        };
        digest(value, gradients.get(b).map_or(&[], |d| &d[..]))
    }))
}

fn computed(case: &Case, threads: usize) -> Result<u64> {
    if case.text("rows").is_some() {
        return rows_of(case);
    }
    if let Some(ring) = case.text("ring") {
        let n: Vec<usize> = ring.split(':').map(|x| x.parse().unwrap()).collect();
        return Ok(digest(SEED, bytes(&ring_slots(n[0], n[1], n[2])?)));
    }
    if let Some(page) = case.text("bounds") {
        let (heads, dim, page) = (
            case.size("kv_heads", 2),
            case.size("dim", 32),
            page.parse().unwrap(),
        );
        let keys = Store::source(case, case.size("tokens", 37), dim, 2)?;
        let view = keys.view(heads, dim)?;
        return Ok(match keys {
            Store::F64(_) => digest(SEED, bytes(&page_bounds::<f64>(view, page)?)),
            _ => digest(SEED, bytes(&page_bounds::<f32>(view, page)?)),
        });
    }
    attended(case, threads)
}

/// What cases.c prints, with the library that the crate links.
fn lines_of_c(folder: &Path, text: &str) -> Vec<String> {
    let out = PathBuf::from(env!("POSENC_OUT"));
    let header: String = (text.lines().filter_map(|l| l.strip_prefix("=number ")))
        .map(|l| format!("NUMBER({})\n", l.split_whitespace().next().unwrap()))
        .collect();
    std::fs::write(out.join("numbers_of_attention.h"), header).unwrap();
    let include = out.join("include");
    std::fs::create_dir_all(include.join("posenc")).unwrap();
    let header = Path::new(env!("POSENC_FOLDER")).join("posenc.h");
    std::fs::copy(header, include.join("posenc/posenc.h")).unwrap();
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(Command::new("cc")
        .args(["-std=gnu11", "-O1", "-I"])
        .arg(&include)
        .arg("-I")
        .arg(&out)
        .arg(folder.join("cases.c"))
        .arg(out.join("libposenc.a"))
        .args(["-lstdc++", "-lm", "-o"])
        .arg(out.join("cases")));
    run(Command::new(out.join("cases")).arg(folder.join("attention.txt")))
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn have_the_bits_of_c() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/kernels/cases");
    let text = std::fs::read_to_string(folder.join("attention.txt")).unwrap();
    let rules: Vec<String> = (text.lines().filter_map(|l| l.strip_prefix("=temperature ")))
        .map(|l| l.split_whitespace().next().unwrap().to_owned())
        .collect();
    let cases = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with(|c| "#=".contains(c)));
    let of_c = lines_of_c(&folder, &text);
    assert_eq!(of_c.len(), cases.clone().count());
    for (line, said) in cases.zip(&of_c) {
        let (fields, error) = match line.split_once(" error ") {
            None => (line, None),
            Some((fields, error)) => (fields, Some(error)),
        };
        let mut words = fields.split(' ');
        let name = words.next().unwrap();
        let case = Case(words.filter_map(|w| w.split_once('=')).collect(), &rules);
        for threads in [1, 3] {
            match (computed(&case, threads), error) {
                (Ok(bits), None) => {
                    assert_eq!(&format!("{name} {bits:x}"), said, "{line}, {threads}")
                }
                (Err(e), Some(end)) => assert!(e.sentence.ends_with(end), "{line}: {e}"),
                (result, _) => panic!("{line}: {result:?}, of C: {said}"),
            }
        }
    }
}
