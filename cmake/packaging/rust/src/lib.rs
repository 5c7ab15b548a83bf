//! Rotary position encodings, caches and attention on CPUs, by the C library of posenc.
//!
//! ```
//! use posenc::*;
//! # fn main() -> Result<()> {
//! const HEADS: usize = 8;
//! const KV_HEADS: usize = 2;
//! const DIM: usize = 64;
//! let f = Frequencies::of_base(DIM, 500_000.0)?; // once per model
//! let maker = RowMaker::new(&f, 0)?;
//! let mut cache = Pages::new(Format::Q8_0, 4, 16, KV_HEADS, DIM)?; // of keys; values alike
//! let mut values = Pages::new(Format::Q8_0, 4, 16, KV_HEADS, DIM)?;
//!
//! let slots: Vec<i64> = (0..3).collect(); // a prompt of three tokens
//! let rows = maker.rows::<f32>(&slots, None)?; // once per step: positions are 0, 1, 2
//! let mut q = vec![1.0f32; 3 * HEADS * DIM]; // stand for your projections
//! let (k, v) = (vec![0.5f32; 3 * KV_HEADS * DIM], vec![2.0f32; 3 * KV_HEADS * DIM]);
//! rotate(
//!     Some(&rows),
//!     &[
//!         Operand::in_place(HeadsMut::of(&mut q, HEADS, DIM)?, Layout::Halves),
//!         Operand::to(Heads::of(&k, KV_HEADS, DIM)?, cache.at_mut(&slots)?, Layout::Halves),
//!         Operand::to(Heads::of(&v, KV_HEADS, DIM)?, values.at_mut(&slots)?, Layout::Unrotated),
//!     ],
//! )?;
//!
//! let mut out = vec![0.0f32; 3 * HEADS * DIM];
//! let mut memory = Vec::new(); // scratch, kept from call to call
//! let outputs = HeadsMut::of(&mut out, HEADS, DIM)?;
//! let (q, k, v) = (Heads::of(&q, HEADS, DIM)?, cache.at(&slots)?, values.at(&slots)?);
//! Attention::new(q, k, v, outputs, &Options::default())?.attend(&mut memory)?;
//! assert!((out[0] - 2.0).abs() < 1e-3); // q8_0 rounds
//! # Ok(()) }
//! ```
//!
//! Errors are the sentences of the C library, which checks arguments before a byte changes. Views
//! are dense: heads `[tokens][heads][head_dim]`, or pages of them; [`sys`] has strides.

pub mod sys;

use std::ffi::{c_void, CStr, CString};
use std::marker::PhantomData;
use std::ptr::{null, null_mut};

/// What must hold, and what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: sys::posenc1_status,
    pub sentence: String,
}
impl std::fmt::Display for Error {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str(&self.sentence)
    }
}
impl std::error::Error for Error {}
pub type Result<T> = std::result::Result<T, Error>;

fn text(sentence: *const std::os::raw::c_char) -> String {
    unsafe { CStr::from_ptr(sentence) }
        .to_string_lossy()
        .into_owned()
}
fn done(status: sys::posenc1_status) -> Result<()> {
    match status {
        sys::POSENC1_OK => Ok(()),
        _ => Err(Error {
            status,
            sentence: text(unsafe { sys::posenc1_error() }),
        }),
    }
}
fn require(holds: bool, sentence: impl FnOnce() -> String) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(Error {
            status: sys::POSENC1_INVALID_ARGUMENT,
            sentence: format!("posenc: {}", sentence()),
        }),
    }
}
fn require_length(what: &str, length: usize, wanted: usize) -> Result<()> {
    require(length == wanted, || {
        format!("{what} must have {wanted} numbers, got {length}")
    })
}
fn pointer<T>(slice: Option<&[T]>) -> *const T {
    slice.map_or(null(), |s| s.as_ptr())
}

/// The instruction set in use: base, v3, v4 ...
pub fn instruction_set() -> Result<String> {
    let name = unsafe { sys::posenc1_instruction_set() };
    if name.is_null() {
        done(sys::POSENC1_NO_INSTRUCTION_SET)?;
    }
    Ok(text(name))
}
/// Whether the set has the products that `dot_products` asks for; if not, such calls are exact.
pub fn has_dot_products() -> bool {
    unsafe { sys::posenc1_has_dot_products() != 0 }
}
/// As in "0.1.0".
pub fn version() -> String {
    text(unsafe { sys::posenc1_version() })
}

/// How heads are stored.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    F32 = sys::POSENC1_F32,
    F64 = sys::POSENC1_F64,
    F16 = sys::POSENC1_F16,
    Bf16 = sys::POSENC1_BF16,
    U8PerHead = sys::POSENC1_U8_PER_HEAD,
    Q8_0 = sys::POSENC1_Q8_0,
    Q8_0Avx2 = sys::POSENC1_Q8_0_AVX2,
    Int8PerHead = sys::POSENC1_INT8_PER_HEAD,
    Int8PerHeadTruncated = sys::POSENC1_INT8_PER_HEAD_TRUNCATED,
    Int8Static = sys::POSENC1_INT8_STATIC,
    E4m3 = sys::POSENC1_E4M3,
    E4m3Truncated = sys::POSENC1_E4M3_TRUNCATED,
    DeepseekV4 = sys::POSENC1_DEEPSEEK_V4,
    DeepseekV4Cpu = sys::POSENC1_DEEPSEEK_V4_CPU,
    Q4_0 = sys::POSENC1_Q4_0,
    Int4PerHead = sys::POSENC1_INT4_PER_HEAD,
    Int4Static = sys::POSENC1_INT4_STATIC,
    Q4_1 = sys::POSENC1_Q4_1,
    Q5_0 = sys::POSENC1_Q5_0,
    Q5_1 = sys::POSENC1_Q5_1,
    Iq4Nl = sys::POSENC1_IQ4_NL,
}
impl Format {
    /// The bytes of a head, with its scales.
    pub fn bytes(self, head_dim: usize) -> Result<usize> {
        let (mut codes, mut scales) = (0, 0);
        done(unsafe { sys::posenc1_format_bytes(self as u32, head_dim, &mut codes, &mut scales) })?;
        Ok(codes + scales)
    }
}

/// A number of heads.
/// # Safety
/// It has the bits of its format.
pub unsafe trait Number: Copy + Default + 'static {
    const FORMAT: Format;
}
/// The bits of a binary16 number, and of a bfloat16 one.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F16(pub u16);
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bf16(pub u16);
unsafe impl Number for f32 {
    const FORMAT: Format = Format::F32;
}
unsafe impl Number for f64 {
    const FORMAT: Format = Format::F64;
}
unsafe impl Number for F16 {
    const FORMAT: Format = Format::F16;
}
unsafe impl Number for Bf16 {
    const FORMAT: Format = Format::Bf16;
}
/// A number of arithmetic: of rows, scores, weights.
pub trait Real: Number {}
impl Real for f32 {}
impl Real for f64 {}

/// The pairs of dims.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Halves = sys::POSENC1_HALVES,
    Interleaved = sys::POSENC1_INTERLEAVED,
    Unrotated = sys::POSENC1_UNROTATED,
}

/// An owner of a handle, which is immutable: threads may share it.
macro_rules! owner {
    ($(#[$doc:meta])* $name:ident($raw:ident, $destroy:ident) { $($field:ident: $type:ty),* }) => {
        $(#[$doc])*
        pub struct $name {
            raw: *mut sys::$raw,
            $($field: $type,)*
        }
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { sys::$destroy(self.raw) }
            }
        }
    };
}

owner!(
    /// How fast each pair rotates.
    Frequencies(posenc1_frequencies, posenc1_frequencies_destroy) {}
);
/// A number or a list of a rule.
#[derive(Clone, Copy)]
pub enum Parameter<'a> {
    Number(f64),
    List(&'a [f64]),
}
impl Frequencies {
    fn made(make: impl FnOnce(*mut *mut sys::posenc1_frequencies) -> u32) -> Result<Self> {
        let mut raw = null_mut();
        done(make(&mut raw)).map(|_| Frequencies { raw })
    }
    pub fn of_base(rotary_dim: usize, base: f64) -> Result<Self> {
        Self::made(|to| unsafe { sys::posenc1_frequencies_of_base(rotary_dim, base, to) })
    }
    pub fn of_numbers(inv_freq: &[f64], attention_factor: f64) -> Result<Self> {
        let (at, pairs) = (inv_freq.as_ptr(), inv_freq.len());
        Self::made(|to| unsafe {
            sys::posenc1_frequencies_of_numbers(at, pairs, attention_factor, to)
        })
    }
    /// A rule that posenc.h lists, of these frequencies or of geometric ones.
    pub fn of_rule(
        of: Option<&Self>,
        rule: &str,
        parameters: &[(&str, Parameter)],
    ) -> Result<Self> {
        let named = |name: &str| {
            CString::new(name).or_else(|_| {
                require(false, || {
                    format!("names must have no zero byte, got {name:?}")
                })
                .map(|_| CString::default())
            })
        };
        let rule = named(rule)?;
        let names = parameters
            .iter()
            .map(|(n, _)| named(n))
            .collect::<Result<Vec<_>>>()?;
        let all: Vec<_> = (parameters.iter().zip(&names))
            .map(|((_, value), name)| {
                let mut p = sys::posenc1_parameter {
                    name: name.as_ptr(),
                    ..Default::default()
                };
                match value {
                    Parameter::Number(x) => p.number = *x,
                    Parameter::List(x) => (p.list, p.count) = (x.as_ptr(), x.len()),
                }
                p
            })
            .collect();
        let of = of.map_or(null(), |f| f.raw as *const _);
        Self::made(|to| unsafe {
            sys::posenc1_frequencies_of_rule(of, rule.as_ptr(), all.as_ptr(), all.len(), to)
        })
    }
    /// axes: one of sys::POSENC1_AXES_*.
    pub fn on_axes(&self, axes: sys::posenc1_axes, numbers: &[usize]) -> Result<Self> {
        let (at, count) = (numbers.as_ptr(), numbers.len());
        Self::made(|to| unsafe { sys::posenc1_frequencies_on_axes(self.raw, axes, at, count, to) })
    }
    pub fn axes(&self) -> usize {
        unsafe { sys::posenc1_frequencies_axes(self.raw, null_mut()) }
    }
    /// inv_freq of each pair, and the attention factor.
    pub fn read(&self) -> (Vec<f64>, f64) {
        let pairs = unsafe { sys::posenc1_frequencies_read(self.raw, null_mut(), null_mut()) };
        let (mut all, mut factor) = (vec![0.0; pairs], 0.0);
        unsafe { sys::posenc1_frequencies_read(self.raw, all.as_mut_ptr(), &mut factor) };
        (all, factor)
    }
}

owner!(
    /// Makes rows of cosines and sines.
    RowMaker(posenc1_row_maker, posenc1_row_maker_destroy) {
        heads: usize, pairs: usize, axes: usize
    }
);
/// One row per token, or per head and token, and the maker that knows which pairs stand still.
pub struct Rows<'m, T> {
    pub cos_sin: Vec<T>,
    tokens: usize,
    maker: &'m RowMaker,
}
impl RowMaker {
    /// table_range: 0, or the largest magnitude of positions whose rows come from a table.
    pub fn new(f: &Frequencies, table_range: i64) -> Result<Self> {
        let mut raw = null_mut();
        done(unsafe { sys::posenc1_row_maker_create(f.raw, table_range, &mut raw) })?;
        Ok(RowMaker {
            raw,
            heads: 1,
            pairs: f.read().0.len(),
            axes: f.axes(),
        })
    }
    /// inv_freq: `[heads][axes][pairs]`. A pair rotates by all axes at once, and of H heads that
    /// are rotated, head h has the rows of head h / (H / heads).
    pub fn mixed(
        heads: usize,
        axes: usize,
        inv_freq: &[f64],
        attention_factor: f64,
    ) -> Result<Self> {
        let series = heads.saturating_mul(axes);
        let pairs = inv_freq.len() / series.max(1);
        require(
            pairs.saturating_mul(series) == inv_freq.len() || series == 0,
            || {
                format!(
                "mixed_row_maker: there must be as many frequencies for each of {heads} heads and \
                 {axes} axes, got {}",
                inv_freq.len()
            )
            },
        )?;
        let (mut raw, at) = (null_mut(), inv_freq.as_ptr());
        done(unsafe {
            sys::posenc1_mixed_row_maker_create(at, heads, axes, pairs, attention_factor, &mut raw)
        })?;
        Ok(RowMaker {
            raw,
            heads,
            pairs,
            axes,
        })
    }
    /// Rows that move rotated keys from one position and frequency to another.
    pub fn rerotation(from: &Frequencies, to: Option<&Frequencies>) -> Result<Self> {
        let (mut raw, of) = (null_mut(), to.map_or(null(), |f| f.raw as *const _));
        done(unsafe { sys::posenc1_rerotation_create(from.raw, of, &mut raw) })?;
        Ok(RowMaker {
            raw,
            heads: 1,
            pairs: from.read().0.len(),
            axes: 1,
        })
    }
    /// Of cos_sin.
    fn numbers(&self, tokens: usize) -> usize {
        self.heads * tokens * 2 * self.pairs
    }
    fn written<T: Real, P>(
        &self,
        positions: &[P],
        from: Option<&[P]>,
        write: unsafe extern "C" fn(
            *const sys::posenc1_row_maker,
            *const P,
            *const P,
            usize,
            sys::posenc1_format,
            *mut c_void,
        ) -> u32,
    ) -> Result<Rows<T>> {
        let tokens = positions.len() / self.axes;
        require(tokens * self.axes == positions.len(), || {
            format!(
                "positions must be given on {} axes, got {}",
                self.axes,
                positions.len()
            )
        })?;
        if let Some(from) = from {
            require_length("from_positions", from.len(), positions.len())?;
        }
        let mut cos_sin = vec![T::default(); self.numbers(tokens)];
        let to = cos_sin.as_mut_ptr() as *mut c_void;
        let (at, format) = (positions.as_ptr(), T::FORMAT as u32);
        done(unsafe { write(self.raw, at, pointer(from), tokens, format, to) })?;
        Ok(Rows {
            cos_sin,
            tokens,
            maker: self,
        })
    }
    /// positions: `[axes][tokens]`. from: the old ones, of a rerotation.
    pub fn rows<T: Real>(&self, positions: &[i64], from: Option<&[i64]>) -> Result<Rows<T>> {
        self.written(positions, from, sys::posenc1_write_rows)
    }
    pub fn fractional_rows<T: Real>(
        &self,
        positions: &[f64],
        from: Option<&[f64]>,
    ) -> Result<Rows<T>> {
        self.written(positions, from, sys::posenc1_write_fractional_rows)
    }
}

/// Heads that are only read.
#[derive(Clone, Copy)]
pub struct Heads<'a> {
    raw: sys::posenc1_heads,
    tokens: usize,
    heads: usize,
    head_dim: usize,
    of: PhantomData<&'a ()>,
}
/// Heads that are written.
pub struct HeadsMut<'a> {
    view: Heads<'a>,
    of: PhantomData<&'a mut ()>,
}
fn dense<'a, T: Number>(
    data: *const T,
    count: usize,
    heads: usize,
    head_dim: usize,
) -> Result<Heads<'a>> {
    let of_token = heads.saturating_mul(head_dim);
    let tokens = if of_token == 0 { 0 } else { count / of_token };
    require(
        tokens.saturating_mul(of_token) == count && of_token != 0,
        || {
            format!(
                "heads must be whole tokens of {heads} heads of {head_dim}, got {count} numbers"
            )
        },
    )?;
    let data = if count == 0 {
        null_mut()
    } else {
        data as *mut c_void
    };
    let raw = sys::posenc1_heads {
        data,
        format: T::FORMAT as u32,
        ..Default::default()
    };
    Ok(Heads {
        raw,
        tokens,
        heads,
        head_dim,
        of: PhantomData,
    })
}
impl<'a> Heads<'a> {
    /// `[tokens][heads][head_dim]`.
    pub fn of<T: Number>(data: &'a [T], heads: usize, head_dim: usize) -> Result<Self> {
        dense(data.as_ptr(), data.len(), heads, head_dim)
    }
    fn is_f64(&self) -> bool {
        self.raw.format == sys::POSENC1_F64
    }
}
impl<'a> HeadsMut<'a> {
    pub fn of<T: Number>(data: &'a mut [T], heads: usize, head_dim: usize) -> Result<Self> {
        let view = dense(data.as_mut_ptr(), data.len(), heads, head_dim)?;
        Ok(HeadsMut {
            view,
            of: PhantomData,
        })
    }
}

/// Pages of a cache, `[pages][page_tokens][heads]` in a format, with scales behind the codes of
/// each page.
pub struct Pages {
    data: Vec<u64>, // aligned for every format
    raw: sys::posenc1_heads,
    heads: usize,
    head_dim: usize,
}
unsafe impl Send for Pages {}
unsafe impl Sync for Pages {}
impl Pages {
    /// Zeros. The scale of codes is 1, where a format has one for all.
    pub fn new(
        format: Format,
        pages: usize,
        page_tokens: usize,
        heads: usize,
        head_dim: usize,
    ) -> Result<Self> {
        let of_head = format.bytes(head_dim)?;
        let bytes = [page_tokens, heads, of_head]
            .iter()
            .try_fold(pages, |n, m| n.checked_mul(*m));
        require(bytes.map_or(false, |n| n < isize::MAX as usize), || {
            format!("pages must fit into memory, got {pages} of {page_tokens} tokens of {heads}")
        })?;
        let mut data = vec![0u64; bytes.unwrap_or(0) / 8 + 1];
        let scale = if matches!(format, Format::Int8Static | Format::Int4Static) {
            1.0
        } else {
            0.0
        };
        let raw = sys::posenc1_heads {
            data: data.as_mut_ptr() as *mut c_void,
            format: format as u32,
            pages,
            page_tokens,
            scale,
            ..Default::default()
        };
        Ok(Pages {
            data,
            raw,
            heads,
            head_dim,
        })
    }
    /// What codes are multiplied by, in formats with one scale for all.
    pub fn set_scale(&mut self, scale: f64) {
        self.raw.scale = scale;
    }
    pub fn bytes(&self) -> &[u8] {
        unsafe { std::slice::from_raw_parts(self.data.as_ptr() as *const u8, self.data.len() * 8) }
    }
    fn view<'a>(&self, slots: &'a [i64]) -> Heads<'a> {
        // Even no slots say that there are pages.
        let at: &[i64] = if slots.is_empty() { &[0] } else { slots };
        let raw = sys::posenc1_heads {
            slots: at.as_ptr(),
            ..self.raw
        };
        let (heads, head_dim) = (self.heads, self.head_dim);
        Heads {
            raw,
            tokens: slots.len(),
            heads,
            head_dim,
            of: PhantomData,
        }
    }
    /// Token t is in slot `slots[t]` = page x page_tokens + token within the page; negative: in
    /// none.
    pub fn at<'a>(&'a self, slots: &'a [i64]) -> Result<Heads<'a>> {
        Ok(self.view(slots))
    }
    pub fn at_mut<'a>(&'a mut self, slots: &'a [i64]) -> Result<HeadsMut<'a>> {
        Ok(HeadsMut {
            view: self.view(slots),
            of: PhantomData,
        })
    }
}
/// The slots of tokens in a ring that keeps the last `capacity` ones.
pub fn ring_slots(first: usize, count: usize, capacity: usize) -> Result<Vec<i64>> {
    let mut slots = vec![0; count.min(capacity)];
    done(unsafe { sys::posenc1_ring_slots(first, count, capacity, slots.as_mut_ptr()) })?;
    Ok(slots)
}
/// The least and the largest of each dim over each page of keys, `[pages][heads][2][head_dim]`.
pub fn page_bounds<T: Real>(keys: Heads, page_tokens: usize) -> Result<Vec<T>> {
    require(keys.is_f64() == (T::FORMAT == Format::F64), || {
        "bounds must be doubles for doubles, and floats for all else".to_owned()
    })?;
    let pages = if page_tokens == 0 {
        0
    } else {
        (keys.tokens + page_tokens - 1) / page_tokens
    };
    let mut bounds = vec![T::default(); pages * keys.heads * 2 * keys.head_dim];
    let to = bounds.as_mut_ptr() as *mut c_void;
    let (tokens, heads, dim) = (keys.tokens, keys.heads, keys.head_dim);
    done(unsafe { sys::posenc1_page_bounds(&keys.raw, tokens, heads, dim, page_tokens, to) })?;
    Ok(bounds)
}
/// Transforms each block of dims of numbers by a Hadamard matrix, in place.
pub fn hadamard(x: HeadsMut, block: usize) -> Result<()> {
    let v = &x.view;
    done(unsafe { sys::posenc1_hadamard(&v.raw, v.tokens, v.heads, v.head_dim, block) })
}

/// A norm of each head, RMS unless `kind` says L2.
#[derive(Clone, Copy, Default)]
pub struct Norm<'a> {
    pub eps: f64,
    pub weight: Option<&'a [f32]>,
    pub plus_one: bool,
    pub kind: sys::posenc1_norm_kind,
    pub place: sys::posenc1_norm_place,
    pub eps_place: sys::posenc1_eps_place,
}
/// One set of heads of a rotation.
pub struct Operand<'a> {
    raw: sys::posenc1_operand,
    tokens: usize,
    targets_agree: bool,
    weights: Option<usize>,
    of: PhantomData<&'a mut ()>,
}
impl<'a> Operand<'a> {
    fn made(from: Heads<'a>, layout: Layout) -> Self {
        let raw = sys::posenc1_operand {
            from: from.raw,
            heads: from.heads,
            head_dim: from.head_dim,
            layout: layout as u32,
            ..Default::default()
        };
        let tokens = from.tokens;
        Operand {
            raw,
            tokens,
            targets_agree: true,
            weights: None,
            of: PhantomData,
        }
    }
    fn agrees(&mut self, to: &HeadsMut) {
        let (v, o) = (&to.view, &self.raw);
        self.targets_agree &= (v.tokens, v.heads, v.head_dim) == (self.tokens, o.heads, o.head_dim);
    }
    pub fn in_place(heads: HeadsMut<'a>, layout: Layout) -> Self {
        Self::made(heads.view, layout)
    }
    pub fn to(from: Heads<'a>, to: HeadsMut<'a>, layout: Layout) -> Self {
        let mut result = Self::made(from, layout);
        result.agrees(&to);
        result.raw.to = to.view.raw;
        result
    }
    pub fn also_to(mut self, to: HeadsMut<'a>) -> Self {
        self.agrees(&to);
        self.raw.also_to = to.view.raw;
        self
    }
    pub fn to_layout(mut self, layout: Layout) -> Self {
        self.raw.to_layout = layout as u32;
        self
    }
    /// The first dim of the rotary block; or sys::POSENC1_LAST_DIMS.
    pub fn first_dim(mut self, dim: usize) -> Self {
        self.raw.first_dim = dim;
        self
    }
    pub fn norm(mut self, norm: Norm<'a>) -> Self {
        self.weights = norm.weight.map(|w| w.len());
        self.raw.norm = sys::posenc1_norm {
            eps: norm.eps,
            kind: norm.kind,
            place: norm.place,
            eps_place: norm.eps_place,
            weight: pointer(norm.weight) as *const c_void,
            weight_format: norm.weight.map_or(0, |_| sys::POSENC1_F32),
            plus_one: norm.plus_one as i32,
        };
        self
    }
    pub fn factor(mut self, factor: f64) -> Self {
        self.raw.factor = factor;
        self
    }
    /// points: a sum of sys::POSENC1_ROUND_*.
    pub fn round(mut self, points: u32, to: Format) -> Self {
        (self.raw.rounding, self.raw.rounded_to) = (points, to as u32);
        self
    }
    /// Blocks of a Hadamard transform: of the source, which is stored so, and at last.
    pub fn hadamard(mut self, from: usize, to: usize) -> Self {
        (self.raw.from_hadamard, self.raw.hadamard) = (from, to);
        self
    }
}
/// A step of a layer: each operand is read, normed, rotated and written in one pass.
pub fn rotate<T: Real>(rows: Option<&Rows<T>>, operands: &[Operand]) -> Result<()> {
    let tokens = rows.map_or(operands.first().map_or(0, |o| o.tokens), |r| r.tokens);
    for (i, o) in operands.iter().enumerate() {
        require(o.tokens == tokens && o.targets_agree, || {
            format!("operand {i} must have {tokens} tokens, in heads as its targets have them")
        })?;
        let doubles = o.raw.from.format == sys::POSENC1_F64;
        require(
            o.raw.layout == sys::POSENC1_UNROTATED || doubles == (T::FORMAT == Format::F64),
            || {
                format!(
                    "operand {i} must be rotated by rows of doubles if it has doubles, else floats"
                )
            },
        )?;
        if let Some(length) = o.weights {
            require_length("weight", length, o.raw.head_dim)?;
        }
    }
    let given = rows.map_or(Default::default(), |r| sys::posenc1_rows {
        cos_sin: r.cos_sin.as_ptr() as *const c_void,
        maker: r.maker.raw,
        ..Default::default()
    });
    if let Some(r) = rows {
        require_length("cos_sin", r.cos_sin.len(), r.maker.numbers(r.tokens))?;
    }
    let given = sys::posenc1_rows { tokens, ..given };
    let all: Vec<_> = operands.iter().map(|o| o.raw).collect();
    done(unsafe { sys::posenc1_rotate(&given, all.as_ptr(), all.len(), 0, 1) })
}

mod attention;
pub use attention::{attend_by_threads, Attention, Cells, KeyBias, Options, Profiles, Temperature};
