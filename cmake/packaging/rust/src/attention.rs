//! Attention of a sequence, and of a batch by threads.
use super::*;
use std::sync::Barrier;

/// Cells of a mask or a bias, dense: `[heads][queries][tokens]`.
#[derive(Clone, Copy)]
pub enum Cells<'a> {
    /// Not 0 shows a key.
    Bool { shown: &'a [u8], heads: usize },
    /// Key s is bit s % 8 of byte s / 8 of its row.
    Bit { shown: &'a [u8], heads: usize },
    /// What is added to a score; -infinity hides. slopes: of each head, or none.
    F32 {
        added: &'a [f32],
        heads: usize,
        slopes: Option<&'a [f64]>,
    },
    F64 {
        added: &'a [f64],
        heads: usize,
        slopes: Option<&'a [f64]>,
    },
    F16 {
        added: &'a [F16],
        heads: usize,
        slopes: Option<&'a [f64]>,
    },
    Bf16 {
        added: &'a [Bf16],
        heads: usize,
        slopes: Option<&'a [f64]>,
    },
}
impl Cells<'_> {
    fn raw(&self, what: &str, a: &sys::posenc1_attention) -> Result<sys::posenc1_cells> {
        let mut row = a.tokens;
        let (data, length, heads, kind, slopes) = match *self {
            Cells::Bool { shown, heads } => (
                shown.as_ptr() as *const c_void,
                shown.len(),
                heads,
                sys::POSENC1_CELL_BOOL,
                None,
            ),
            Cells::Bit { shown, heads } => {
                row = (row + 7) / 8;
                (
                    shown.as_ptr() as *const c_void,
                    shown.len(),
                    heads,
                    sys::POSENC1_CELL_BIT,
                    None,
                )
            }
            Cells::F32 {
                added,
                heads,
                slopes,
            } => (
                added.as_ptr() as *const c_void,
                added.len(),
                heads,
                sys::POSENC1_CELL_F32,
                slopes,
            ),
            Cells::F64 {
                added,
                heads,
                slopes,
            } => (
                added.as_ptr() as *const c_void,
                added.len(),
                heads,
                sys::POSENC1_CELL_F64,
                slopes,
            ),
            Cells::F16 {
                added,
                heads,
                slopes,
            } => (
                added.as_ptr() as *const c_void,
                added.len(),
                heads,
                sys::POSENC1_CELL_F16,
                slopes,
            ),
            Cells::Bf16 {
                added,
                heads,
                slopes,
            } => (
                added.as_ptr() as *const c_void,
                added.len(),
                heads,
                sys::POSENC1_CELL_BF16,
                slopes,
            ),
        };
        let wanted = heads
            .max(1)
            .saturating_mul(a.query_tokens)
            .saturating_mul(row);
        require_length(what, length, wanted)?;
        if let Some(slopes) = slopes {
            require_length("slopes of cells", slopes.len(), a.heads)?;
        }
        let slopes = pointer(slopes);
        Ok(sys::posenc1_cells {
            data,
            r#type: kind,
            heads,
            slopes,
            ..Default::default()
        })
    }
}

/// The factor of scores before the softmax. rule: one of sys::POSENC1_*, as posenc.h has them.
#[derive(Clone, Copy, Default)]
pub struct Temperature<'a> {
    pub rule: sys::posenc1_temperature_rule,
    pub length: f64,
    pub scale: f64,
    pub offset: f64,
    pub scales: Option<&'a [f64]>,
    pub biases: Option<&'a [f64]>,
}
/// Inkling's bias: profiles `[rank][extent]`, and query_side `[query_tokens][heads][rank]`.
#[derive(Clone, Copy)]
pub struct Profiles<'a> {
    pub profiles: &'a [f32],
    pub rank: usize,
    pub query_side: &'a [f32],
}

owner!(
    /// The bias of a key projection that keys were made without.
    KeyBias(posenc1_key_bias, posenc1_key_bias_destroy) { axes: usize, heads: usize, kv_heads: usize, head_dim: usize }
);
impl KeyBias {
    /// bias: `[kv_heads][head_dim]`. hadamard: the block of transformed queries; 0: none.
    pub fn new(
        f: &Frequencies,
        bias: &[f32],
        (kv_heads, heads, head_dim): (usize, usize, usize),
        layout: Layout,
        first_dim: usize,
        hadamard: usize,
    ) -> Result<Self> {
        require_length("bias", bias.len(), kv_heads.saturating_mul(head_dim))?;
        let (mut raw, at, pairs) = (null_mut(), bias.as_ptr(), layout as u32);
        done(unsafe {
            sys::posenc1_key_bias_create(
                f.raw, at, kv_heads, heads, head_dim, pairs, first_dim, hadamard, &mut raw,
            )
        })?;
        Ok(KeyBias {
            raw,
            axes: f.axes(),
            heads,
            kv_heads,
            head_dim,
        })
    }
    /// For one sequence on several axes: positions `[axes][tokens]`, beyond them index + delta.
    pub fn at(&self, positions: &[i64], delta: i64) -> Result<Self> {
        let tokens = positions.len() / self.axes;
        require_length("positions on axes", positions.len(), tokens * self.axes)?;
        let mut raw = null_mut();
        let at = positions.as_ptr();
        done(unsafe { sys::posenc1_key_bias_at(self.raw, at, tokens, delta, &mut raw) })?;
        Ok(KeyBias { raw, ..*self })
    }
}

/// What attention is asked, besides heads. Zeros and none are defaults: causal, every earlier key,
/// a scale of 1 / sqrt(head_dim).
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    pub scale: f64,
    pub factor: f64,
    pub cap: f64,
    pub tau: f64,
    pub behind: usize,
    /// Keys at most so many positions ahead; sys::POSENC1_ALL_AHEAD: all.
    pub ahead: usize,
    pub chunk: usize,
    pub dot_products: bool,
    pub query_positions: Option<&'a [i64]>,
    pub key_positions: Option<&'a [i64]>,
    pub slopes: Option<&'a [f64]>,
    pub sinks: Option<&'a [f64]>,
    pub mask: Option<Cells<'a>>,
    pub bias: Option<Cells<'a>>,
    pub temperature: Temperature<'a>,
    pub key_bias: Option<&'a KeyBias>,
    pub profiles: Option<Profiles<'a>>,
}

/// One sequence: its queries attend to its keys and values.
pub struct Attention<'a> {
    raw: sys::posenc1_attention,
    of: PhantomData<&'a mut ()>,
}
impl<'a> Attention<'a> {
    pub fn new(
        queries: Heads<'a>,
        keys: Heads<'a>,
        values: Heads<'a>,
        outputs: HeadsMut<'a>,
        options: &Options<'a>,
    ) -> Result<Self> {
        let (o, out) = (options, &outputs.view);
        let fits = [
            (
                "outputs must have the queries'",
                (out.tokens, out.heads),
                (queries.tokens, queries.heads),
            ),
            (
                "values must have the keys'",
                (values.tokens, values.heads),
                (keys.tokens, keys.heads),
            ),
        ];
        for (what, got, wanted) in fits {
            require(got == wanted, || {
                format!(
                    "{what} {} tokens of {} heads, got {} of {}",
                    wanted.0, wanted.1, got.0, got.1
                )
            })?;
        }
        for (what, got, wanted) in [
            ("keys", keys.head_dim, queries.head_dim),
            ("outputs", out.head_dim, values.head_dim),
        ] {
            require(got == wanted, || {
                format!("{what} must have a head_dim of {wanted}, got {got}")
            })?;
        }
        require(
            queries.raw.slots.is_null() && out.raw.slots.is_null(),
            || "queries and outputs must have no slots".to_owned(),
        )?;
        let mut a = sys::posenc1_attention {
            queries: queries.raw,
            outputs: out.raw,
            keys: keys.raw,
            values: values.raw,
            tokens: keys.tokens,
            query_tokens: queries.tokens,
            heads: queries.heads,
            kv_heads: keys.heads,
            head_dim: queries.head_dim,
            value_dim: values.head_dim,
            scale: o.scale,
            factor: o.factor,
            cap: o.cap,
            tau: o.tau,
            behind: o.behind,
            ahead: o.ahead,
            chunk: o.chunk,
            dot_products: o.dot_products as i32,
            ..Default::default()
        };
        let of_heads = |what: &str, numbers: Option<&[f64]>| match numbers {
            Some(x) => require_length(what, x.len(), a.heads).map(|_| x.as_ptr()),
            None => Ok(null()),
        };
        (a.slopes, a.sinks) = (of_heads("slopes", o.slopes)?, of_heads("sinks", o.sinks)?);
        let t = &o.temperature;
        a.temperature = sys::posenc1_temperature {
            rule: t.rule,
            length: t.length,
            scale: t.scale,
            offset: t.offset,
            scales: of_heads("scales of the temperature", t.scales)?,
            biases: of_heads("biases of the temperature", t.biases)?,
        };
        for (what, positions, wanted) in [
            ("query_positions", o.query_positions, a.query_tokens),
            ("key_positions", o.key_positions, a.tokens),
        ] {
            require_length(what, positions.map_or(wanted, |p| p.len()), wanted)?;
        }
        (a.query_positions, a.key_positions) =
            (pointer(o.query_positions), pointer(o.key_positions));
        if let Some(cells) = &o.mask {
            a.mask = cells.raw("mask", &a)?;
        }
        if let Some(cells) = &o.bias {
            a.bias = cells.raw("bias", &a)?;
        }
        if let Some(b) = o.key_bias {
            let (of_bias, of_call) = (
                (b.heads, b.kv_heads, b.head_dim),
                (a.heads, a.kv_heads, a.head_dim),
            );
            require(of_bias == of_call, || {
                format!(
                    "key_bias must be of heads, kv_heads and head_dim {of_call:?}, got {of_bias:?}"
                )
            })?;
            a.key_bias = b.raw;
        }
        if let Some(p) = &o.profiles {
            let extent = p.profiles.len().checked_div(p.rank).unwrap_or(0);
            require_length("profiles", p.profiles.len(), extent * p.rank)?;
            let side = a
                .query_tokens
                .saturating_mul(a.heads)
                .saturating_mul(p.rank);
            require_length("query_side", p.query_side.len(), side)?;
            let (profiles, query_side) = (p.profiles.as_ptr(), p.query_side.as_ptr());
            a.profiles = sys::posenc1_profiles {
                profiles,
                rank: p.rank,
                extent,
                query_side,
            };
        }
        Ok(Attention {
            raw: a,
            of: PhantomData,
        })
    }
    /// Also writes log_sum_exp, `[query_tokens][heads]`, and scores and weights,
    /// `[heads][query_tokens][tokens]`, which are doubles for doubles.
    pub fn record<T: Real>(
        mut self,
        log_sum_exp: Option<&'a mut [f64]>,
        scores: Option<&'a mut [T]>,
        weights: Option<&'a mut [T]>,
    ) -> Result<Self> {
        let rows = self.raw.query_tokens.saturating_mul(self.raw.heads);
        let cells = rows.saturating_mul(self.raw.tokens);
        let doubles = self.raw.queries.format == sys::POSENC1_F64;
        require(doubles == (T::FORMAT == Format::F64), || {
            "scores and weights must be doubles for doubles, and floats for all else".to_owned()
        })?;
        if let Some(x) = log_sum_exp {
            require_length("log_sum_exp", x.len(), rows)?;
            self.raw.log_sum_exp = x.as_mut_ptr();
        }
        for (what, x, to) in [
            ("scores", scores, &mut self.raw.scores),
            ("weights", weights, &mut self.raw.weights),
        ] {
            if let Some(x) = x {
                require_length(what, x.len(), cells)?;
                *to = x.as_mut_ptr() as *mut c_void;
            }
        }
        Ok(self)
    }
    /// memory: scratch, which grows as it must.
    pub fn attend(&mut self, memory: &mut Vec<u8>) -> Result<()> {
        let mut bytes = 0;
        done(unsafe { sys::posenc1_attention_memory(&self.raw, 0, usize::MAX, &mut bytes) })?;
        memory.resize(memory.len().max(bytes), 0);
        (self.raw.memory, self.raw.memory_bytes) =
            (memory.as_mut_ptr() as *mut c_void, memory.len());
        done(unsafe { sys::posenc1_attend(&self.raw, 0, usize::MAX) })
    }
}

/// Gradients of the heads of an attention, dense.
pub struct Gradients<T> {
    pub queries: Vec<T>,
    pub keys: Vec<T>,
    pub values: Vec<T>,
}
impl Attention<'_> {
    /// From the gradients of outputs, after attend with log_sum_exp recorded. T: f64 for doubles,
    /// f32 for all else.
    pub fn backward<T: Real>(
        &mut self,
        d_outputs: Heads,
        memory: &mut Vec<u8>,
    ) -> Result<Gradients<T>> {
        let (a, d) = (&mut self.raw, &d_outputs);
        let (got, wanted) = (
            (d.tokens, d.heads, d.head_dim),
            (a.query_tokens, a.heads, a.value_dim),
        );
        require(got == wanted, || {
            format!("d_outputs must be of tokens, heads and head_dim {wanted:?}, got {got:?}")
        })?;
        let doubles = a.queries.format == sys::POSENC1_F64;
        require(doubles == (T::FORMAT == Format::F64), || {
            "gradients must be doubles for doubles, and floats for all else".to_owned()
        })?;
        let mut all = Gradients {
            queries: vec![T::default(); a.query_tokens * a.heads * a.head_dim],
            keys: vec![T::default(); a.tokens * a.kv_heads * a.head_dim],
            values: vec![T::default(); a.tokens * a.kv_heads * a.value_dim],
        };
        let written = |x: &mut Vec<T>| sys::posenc1_heads {
            data: x.as_mut_ptr() as *mut c_void,
            format: T::FORMAT as u32,
            ..Default::default()
        };
        let to = sys::posenc1_gradients {
            outputs: d.raw,
            queries: written(&mut all.queries),
            keys: written(&mut all.keys),
            values: written(&mut all.values),
        };
        let mut bytes = 0;
        done(unsafe { sys::posenc1_attention_backward_memory(a, 0, usize::MAX, &mut bytes) })?;
        memory.resize(memory.len().max(bytes), 0);
        (a.memory, a.memory_bytes) = (memory.as_mut_ptr() as *mut c_void, memory.len());
        done(unsafe { sys::posenc1_attention_backward(a, &to, 0, usize::MAX) }).map(|_| all)
    }
}

unsafe extern "C" fn wait(barrier: *mut c_void) {
    (*(barrier as *const Barrier)).wait();
}
/// Pointers that threads share: what they point to outlives them, and the library divides it.
#[derive(Clone, Copy)]
struct Shared(*const sys::posenc1_attention, usize, sys::posenc1_worker);
unsafe impl Send for Shared {}
impl Shared {
    fn attend(self, index: usize) -> Result<()> {
        let worker = sys::posenc1_worker { index, ..self.2 };
        done(unsafe { sys::posenc1_attend_as(self.0, self.1, &worker) })
    }
}
/// Attends to a batch of sequences by so many threads, which are this one and new ones. Their
/// number changes no bit.
pub fn attend_by_threads(
    sequences: &mut [Attention],
    threads: usize,
    memory: &mut Vec<u8>,
) -> Result<()> {
    let all: Vec<_> = sequences.iter().map(|a| a.raw).collect();
    let (at, count) = (all.as_ptr(), all.len());
    let mut bytes = 0;
    done(unsafe { sys::posenc1_attention_memory_of(at, count, threads, &mut bytes) })?;
    memory.resize(memory.len().max(bytes), 0);
    let barrier = Barrier::new(threads.max(1));
    let shared = Shared(
        at,
        count,
        sys::posenc1_worker {
            index: 0,
            count: threads,
            barrier: if threads > 1 { Some(wait) } else { None },
            barrier_argument: &barrier as *const Barrier as *mut c_void,
            memory: memory.as_mut_ptr() as *mut c_void,
            memory_bytes: memory.len(),
        },
    );
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|index| scope.spawn(move || shared.attend(index)))
            .collect();
        let mut result = shared.attend(0);
        for other in others {
            result = result.and(other.join().expect("no worker panics"));
        }
        result
    })
}
