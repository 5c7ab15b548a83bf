//! The bindings have the layout of posenc.h, and the safe layer refuses what would reach beyond
//! memory.
use posenc::*;
use std::process::Command;

/// Fields of each struct, by C: their offsets and the size.
#[test]
fn structs_have_the_fields_of_c() {
    let header = std::fs::read_to_string(format!("{}/posenc.h", env!("POSENC_FOLDER"))).unwrap();
    let mut rust: Vec<(&str, Vec<(&str, usize)>, usize)> = Vec::new();
    macro_rules! take {
        ($($name:ident)*) => {
            $(rust.push((stringify!($name), sys::$name::fields(), std::mem::size_of::<sys::$name>()));)*
        };
    }
    take!(posenc1_parameter posenc1_layer posenc1_heads posenc1_rows posenc1_norm posenc1_operand
          posenc1_cells posenc1_temperature posenc1_profiles posenc1_attention posenc1_gradients
          posenc1_worker);
    let of_header = header.matches("typedef struct posenc1_").count()
        - header.matches(" posenc1_frequencies;").count()
        - header.matches(" posenc1_row_maker;").count()
        - header.matches(" posenc1_key_bias;").count();
    assert_eq!(rust.len(), of_header, "structs of posenc.h");

    // A field that Rust lacks shows in the size or in the offsets behind it.
    let mut program =
        "#include <stdio.h>\n#include <stddef.h>\n#include \"posenc.h\"\nint main(void) {\n"
            .to_owned();
    let mut wanted = String::new();
    for (name, fields, size) in &rust {
        for (field, offset) in fields {
            let field = field.trim_start_matches("r#");
            program += &format!("  printf(\"%zu\\n\", offsetof({name}, {field}));\n");
            wanted += &format!("{offset}\n");
        }
        program += &format!("  printf(\"%zu\\n\", sizeof({name}));\n");
        wanted += &format!("{size}\n");
    }
    let out = env!("POSENC_OUT");
    std::fs::write(format!("{out}/layout.c"), program + "  return 0;\n}\n").unwrap();
    let compiled = Command::new("cc")
        .args(["-std=c11", "-I", env!("POSENC_FOLDER"), "-o"])
        .arg(format!("{out}/layout"))
        .arg(format!("{out}/layout.c"))
        .status();
    assert!(compiled.unwrap().success());
    let said = Command::new(format!("{out}/layout")).output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap(), wanted);
}

#[test]
fn the_version_is_that_of_the_library() {
    assert_eq!(version(), env!("CARGO_PKG_VERSION"));
}

/// Functions and values of enums too, by name.
#[test]
fn names_are_those_of_the_header() {
    let header = std::fs::read_to_string(format!("{}/posenc.h", env!("POSENC_FOLDER"))).unwrap();
    let bindings = include_str!("../src/sys.rs");
    let mut count = 0;
    for line in header.lines() {
        let line = line.trim();
        if let Some((name, value)) = line
            .split_once(" = ")
            .filter(|(n, _)| n.starts_with("POSENC1_"))
        {
            let value: String = value.chars().take_while(char::is_ascii_digit).collect();
            let found = bindings.lines().any(|l| {
                l.starts_with(&format!("pub const {name}: "))
                    && l.ends_with(&format!(" = {value};"))
            });
            assert!(found, "sys.rs must have {name} = {value}");
            count += 1;
        }
        let starts = [
            "posenc1_status posenc1_",
            "char const* posenc1_",
            "size_t posenc1_",
            "void posenc1_",
        ];
        if let (true, Some(at)) = (starts.iter().any(|s| line.starts_with(s)), line.find('(')) {
            let name = line[..at].rsplit(' ').next().unwrap();
            assert!(
                bindings.contains(&format!("pub fn {name}(")),
                "sys.rs must have {name}"
            );
            count += 1;
        }
    }
    assert!(count > 80, "names of posenc.h, got {count}");
}

fn refused<T>(result: Result<T>, words: &str) {
    let error = result.err().expect(words);
    assert_eq!(error.status, sys::POSENC1_INVALID_ARGUMENT);
    assert!(error.sentence.contains(words), "{error}");
}

#[test]
fn what_reaches_beyond_memory_is_refused() {
    let f = Frequencies::of_base(8, 1e4).unwrap();
    let maker = RowMaker::new(&f, 0).unwrap();
    let mut x = vec![1.0f32; 2 * 3 * 8];
    let y = x.clone();
    refused(
        Heads::of(&y[1..], 3, 8),
        "whole tokens of 3 heads of 8, got 47 numbers",
    );
    refused(Heads::of(&y, 0, 8), "whole tokens");
    refused(Heads::of(&y, usize::MAX, 2), "whole tokens");
    refused(Frequencies::of_base(7, 1e4), "even");
    refused(Frequencies::of_rule(None, "no\0ne", &[]), "no zero byte");

    let rows = maker.rows::<f32>(&[0, 1, 2], None).unwrap();
    let mut z = x.clone();
    let two = Operand::in_place(HeadsMut::of(&mut z, 3, 8).unwrap(), Layout::Halves);
    refused(rotate(Some(&rows), &[two]), "operand 0 must have 3 tokens");
    let doubles = maker.rows::<f64>(&[0, 1], None).unwrap();
    let in_place = Operand::in_place(HeadsMut::of(&mut x, 3, 8).unwrap(), Layout::Halves);
    refused(rotate(Some(&doubles), &[in_place]), "rows of doubles");
    let rows = maker.rows::<f32>(&[0, 1], None).unwrap();
    let weight = [1.0f32; 7];
    let norm = Norm {
        eps: 1e-6,
        weight: Some(&weight),
        ..Default::default()
    };
    let normed = Operand::in_place(HeadsMut::of(&mut x, 3, 8).unwrap(), Layout::Halves).norm(norm);
    refused(
        rotate(Some(&rows), &[normed]),
        "weight must have 8 numbers, got 7",
    );
    let mut short = maker.rows::<f32>(&[0, 1], None).unwrap();
    short.cos_sin.pop();
    let whole = Operand::in_place(HeadsMut::of(&mut x, 3, 8).unwrap(), Layout::Halves);
    refused(
        rotate(Some(&short), &[whole]),
        "cos_sin must have 16 numbers, got 15",
    );

    refused(
        RowMaker::mixed(2, 2, &[1.0; 7], 1.0),
        "as many frequencies for each of 2 heads and 2 axes, got 7",
    );
    refused(
        RowMaker::mixed(usize::MAX / 2 + 2, 2, &[1.0; 8], 1.0),
        "as many frequencies",
    );
    refused(
        RowMaker::mixed(0, 2, &[1.0; 7], 1.0),
        "there must be a head",
    );
    let mixed = RowMaker::mixed(3, 1, &[1.0; 12], 1.0).unwrap();
    let mut short = mixed.rows::<f32>(&[0, 1], None).unwrap();
    short.cos_sin.truncate(2 * 2 * 4);
    let whole = Operand::in_place(HeadsMut::of(&mut x, 3, 8).unwrap(), Layout::Halves);
    refused(
        rotate(Some(&short), &[whole]),
        "cos_sin must have 48 numbers, got 16",
    );

    let mut cache = Pages::new(Format::F32, 1, 4, 3, 8).unwrap();
    let beyond = [0, 4];
    let write = Operand::to(
        Heads::of(&y, 3, 8).unwrap(),
        cache.at_mut(&beyond).unwrap(),
        Layout::Unrotated,
    );
    refused(rotate::<f32>(None, &[write]), "slot");
    refused(
        Pages::new(Format::Q8_0, usize::MAX, 2, 1, 32),
        "fit into memory",
    );

    let (q, kv) = ([1.0f32; 16], [1.0f32; 32]);
    let of = |x| Heads::of(x, 2, 8).unwrap();
    let mut out = [0.0f32; 16];
    let mut attend = |k, v, options: &Options| {
        Attention::new(of(&q), k, v, HeadsMut::of(&mut out, 2, 8)?, options)?
            .attend(&mut Vec::new())
    };
    attend(of(&kv), of(&kv), &Options::default()).unwrap();
    refused(
        attend(of(&kv), of(&q), &Options::default()),
        "values must have the keys' 2 tokens",
    );
    let slopes = Options {
        slopes: Some(&[1.0]),
        ..Default::default()
    };
    refused(
        attend(of(&kv), of(&kv), &slopes),
        "slopes must have 2 numbers, got 1",
    );
    let at = Options {
        key_positions: Some(&[0]),
        ..Default::default()
    };
    refused(
        attend(of(&kv), of(&kv), &at),
        "key_positions must have 2 numbers, got 1",
    );
    let mask = Options {
        mask: Some(Cells::Bit {
            shown: &[],
            heads: 1,
        }),
        ..Default::default()
    };
    refused(
        attend(of(&kv), of(&kv), &mask),
        "mask must have 1 numbers, got 0",
    );
    assert_eq!(attend_by_threads(&mut [], 2, &mut Vec::new()), Ok(()));

    let mut sums = [0.0f64; 2];
    let outputs = HeadsMut::of(&mut out, 2, 8).unwrap();
    let mut a = Attention::new(of(&q), of(&kv), of(&kv), outputs, &Options::default()).unwrap();
    let memory = &mut Vec::new();
    refused(
        a.backward::<f32>(of(&q), memory),
        "log_sum_exp must not be null",
    );
    let mut a = a.record::<f32>(Some(&mut sums), None, None).unwrap();
    a.attend(memory).unwrap();
    refused(
        a.backward::<f64>(of(&q), memory),
        "gradients must be doubles for doubles",
    );
    refused(
        a.backward::<f32>(of(&kv), memory),
        "d_outputs must be of tokens, heads and head_dim (1, 2, 8), got (2, 2, 8)",
    );
    refused(
        a.backward::<f32>(Heads::of(&[1.0f64; 16], 2, 8).unwrap(), memory),
        "gradients of outputs must be numbers that are no doubles",
    );
    let d = a.backward::<f32>(of(&q), memory).unwrap();
    assert_eq!(
        (d.queries.len(), d.keys.len(), d.values),
        (16, 32, vec![0.5; 32])
    );
}
