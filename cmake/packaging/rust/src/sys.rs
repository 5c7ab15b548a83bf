//! posenc.h in Rust: the same names, types and order of fields. Its comments say what each is.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

/// A handle, which only functions of the library read.
macro_rules! handle {
    ($name:ident) => {
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    };
}
/// A struct of posenc.h. Zeros are defaults, as they are in C..
macro_rules! record {
    ($name:ident { $($field:ident: $type:ty,)* }) => {
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name {
            $(pub $field: $type,)*
        }
        impl Default for $name {
            fn default() -> Self {
                unsafe { std::mem::zeroed() } // numbers and pointers
            }
        }
        impl $name {
            /// Each field's name and offset, in order.
            pub fn fields() -> Vec<(&'static str, usize)> {
                let x = Self::default();
                let at = &x as *const Self as usize;
                vec![$((stringify!($field), std::ptr::addr_of!(x.$field) as usize - at)),*]
            }
        }
    };
}

pub type posenc1_status = c_uint;
pub const POSENC1_OK: posenc1_status = 0;
pub const POSENC1_INVALID_ARGUMENT: posenc1_status = 1;
pub const POSENC1_OUT_OF_MEMORY: posenc1_status = 2;
pub const POSENC1_NO_INSTRUCTION_SET: posenc1_status = 3;
pub const POSENC1_NOT_BUILT: posenc1_status = 4;
pub const POSENC1_FAILED: posenc1_status = 5;

pub type posenc1_layout = c_uint;
pub const POSENC1_HALVES: posenc1_layout = 1;
pub const POSENC1_INTERLEAVED: posenc1_layout = 2;
pub const POSENC1_UNROTATED: posenc1_layout = 3;

pub type posenc1_both_ways = c_uint;
pub const POSENC1_NO_BLOCK: posenc1_both_ways = 0;
pub const POSENC1_IMAGE: posenc1_both_ways = 1;
pub const POSENC1_IMAGE_WITHIN_WINDOW: posenc1_both_ways = 2;
pub const POSENC1_PREFIX: posenc1_both_ways = 3;

pub type posenc1_axes = c_uint;
pub const POSENC1_AXES_BY_PAIR: posenc1_axes = 0;
pub const POSENC1_AXES_CONTIGUOUS: posenc1_axes = 1;
pub const POSENC1_AXES_INTERLEAVED: posenc1_axes = 2;
pub const POSENC1_AXES_GGML: posenc1_axes = 3;
pub const POSENC1_AXES_GGML_INTERLEAVED: posenc1_axes = 4;

pub type posenc1_format = c_uint;
pub const POSENC1_F32: posenc1_format = 1;
pub const POSENC1_F64: posenc1_format = 2;
pub const POSENC1_F16: posenc1_format = 3;
pub const POSENC1_BF16: posenc1_format = 4;
pub const POSENC1_U8_PER_HEAD: posenc1_format = 5;
pub const POSENC1_Q8_0: posenc1_format = 6;
pub const POSENC1_Q8_0_AVX2: posenc1_format = 7;
pub const POSENC1_INT8_PER_HEAD: posenc1_format = 8;
pub const POSENC1_INT8_PER_HEAD_TRUNCATED: posenc1_format = 9;
pub const POSENC1_INT8_STATIC: posenc1_format = 10;
pub const POSENC1_E4M3: posenc1_format = 11;
pub const POSENC1_E4M3_TRUNCATED: posenc1_format = 12;
pub const POSENC1_DEEPSEEK_V4: posenc1_format = 13;
pub const POSENC1_DEEPSEEK_V4_CPU: posenc1_format = 14;
pub const POSENC1_Q4_0: posenc1_format = 15;
pub const POSENC1_INT4_PER_HEAD: posenc1_format = 16;
pub const POSENC1_INT4_STATIC: posenc1_format = 17;
pub const POSENC1_Q4_1: posenc1_format = 18;
pub const POSENC1_Q5_0: posenc1_format = 19;
pub const POSENC1_Q5_1: posenc1_format = 20;
pub const POSENC1_IQ4_NL: posenc1_format = 21;

pub type posenc1_norm_kind = c_uint;
pub const POSENC1_RMS: posenc1_norm_kind = 0;
pub const POSENC1_L2: posenc1_norm_kind = 1;

pub type posenc1_norm_place = c_uint;
pub const POSENC1_BEFORE_ROTATION: posenc1_norm_place = 0;
pub const POSENC1_AFTER_ROTATION: posenc1_norm_place = 1;

pub type posenc1_eps_place = c_uint;
pub const POSENC1_EPS_INSIDE: posenc1_eps_place = 0;
pub const POSENC1_EPS_OUTSIDE: posenc1_eps_place = 1;
pub const POSENC1_EPS_AT_LEAST: posenc1_eps_place = 2;

pub type posenc1_rounding = c_uint;
pub const POSENC1_ROUND_NORMALISED: posenc1_rounding = 1;
pub const POSENC1_ROUND_NORM: posenc1_rounding = 2;
pub const POSENC1_ROUND_COSINES: posenc1_rounding = 4;
pub const POSENC1_ROUND_PRODUCTS: posenc1_rounding = 8;
pub const POSENC1_ROUND_ROTATED: posenc1_rounding = 16;
pub const POSENC1_ROUND_FLASHINFER_FUSED: posenc1_rounding = 2;
pub const POSENC1_ROUND_SEPARATE_CALLS: posenc1_rounding = 18;
pub const POSENC1_ROUND_VLLM_FUSED: posenc1_rounding = 20;
pub const POSENC1_ROUND_SGLANG_FUSED: posenc1_rounding = 30;
pub const POSENC1_ROUND_HUGGING_FACE: posenc1_rounding = 31;

pub type posenc1_cell_type = c_uint;
pub const POSENC1_CELL_BOOL: posenc1_cell_type = 1;
pub const POSENC1_CELL_BIT: posenc1_cell_type = 2;
pub const POSENC1_CELL_F32: posenc1_cell_type = 3;
pub const POSENC1_CELL_F64: posenc1_cell_type = 4;
pub const POSENC1_CELL_F16: posenc1_cell_type = 5;
pub const POSENC1_CELL_BF16: posenc1_cell_type = 6;

pub type posenc1_temperature_rule = c_uint;
pub const POSENC1_NO_TEMPERATURE: posenc1_temperature_rule = 0;
pub const POSENC1_LOG_N: posenc1_temperature_rule = 1;
pub const POSENC1_LOG_N_BY_POSITION: posenc1_temperature_rule = 2;
pub const POSENC1_SSMAX: posenc1_temperature_rule = 3;
pub const POSENC1_BY_POSITION: posenc1_temperature_rule = 4;
pub const POSENC1_ADAPTIVE: posenc1_temperature_rule = 5;
pub const POSENC1_HALF_WEIGHT: posenc1_temperature_rule = 6;
pub const POSENC1_CRITICAL: posenc1_temperature_rule = 7;

pub const POSENC1_LAST_DIMS: usize = usize::MAX;
pub const POSENC1_ALL_AHEAD: usize = usize::MAX;
pub const POSENC1_LARGEST_BLOCK: usize = usize::MAX;

handle!(posenc1_frequencies);
handle!(posenc1_row_maker);
handle!(posenc1_key_bias);

record!(posenc1_parameter {
    name: *const c_char,
    number: f64,
    list: *const f64,
    count: usize,
});
record!(posenc1_layer {
    layout: posenc1_layout,
    first_dim: usize,
    rotary_dim: usize,
    head_dim: usize,
    behind: usize,
    ahead: usize,
    chunk: usize,
    factor: f64,
    cap: f64,
    sinks: c_int,
    depends_on_length: c_int,
    both_ways: posenc1_both_ways,
    key_bias_is_separable: c_int,
    temperature_scale: f64,
    temperature_length: f64,
    temperature_offset: f64,
    alibi_heads: usize,
    alibi_max_bias: f64,
    alibi_factor: f64,
    learned_bias: c_int,
});
record!(posenc1_heads {
    data: *mut c_void,
    format: posenc1_format,
    page_stride: isize,
    token_stride: isize,
    head_stride: isize,
    slots: *const i64,
    pages: usize,
    page_tokens: usize,
    scales: *mut c_void,
    scales_page_stride: isize,
    scales_token_stride: isize,
    scales_head_stride: isize,
    scale: f64,
    inverse: f64,
});
record!(posenc1_rows {
    cos_sin: *const c_void,
    tokens: usize,
    batches: usize,
    rows: usize,
    pairs: usize,
    maker: *const posenc1_row_maker,
    heads: usize,
});
record!(posenc1_norm {
    eps: f64,
    kind: posenc1_norm_kind,
    place: posenc1_norm_place,
    eps_place: posenc1_eps_place,
    weight: *const c_void,
    weight_format: posenc1_format,
    plus_one: c_int,
});
record!(posenc1_operand {
    from: posenc1_heads,
    to: posenc1_heads,
    also_to: posenc1_heads,
    heads: usize,
    head_dim: usize,
    layout: posenc1_layout,
    to_layout: posenc1_layout,
    first_dim: usize,
    norm: posenc1_norm,
    factor: f64,
    rounding: c_uint,
    rounded_to: posenc1_format,
    hadamard: usize,
    from_hadamard: usize,
});
record!(posenc1_cells {
    data: *const c_void,
    r#type: posenc1_cell_type,
    one_row: c_int,
    heads: usize,
    query_stride: isize,
    head_stride: isize,
    key_stride: isize,
    slopes: *const f64,
});
record!(posenc1_temperature {
    rule: posenc1_temperature_rule,
    length: f64,
    scale: f64,
    offset: f64,
    scales: *const f64,
    biases: *const f64,
});
record!(posenc1_profiles {
    profiles: *const f32,
    rank: usize,
    extent: usize,
    query_side: *const f32,
});
record!(posenc1_attention {
    queries: posenc1_heads,
    outputs: posenc1_heads,
    keys: posenc1_heads,
    values: posenc1_heads,
    tokens: usize,
    query_tokens: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    value_dim: usize,
    scale: f64,
    factor: f64,
    sinks: *const f64,
    memory: *mut c_void,
    memory_bytes: usize,
    query_positions: *const i64,
    key_positions: *const i64,
    behind: usize,
    ahead: usize,
    chunk: usize,
    dot_products: c_int,
    mask: posenc1_cells,
    bias: posenc1_cells,
    slopes: *const f64,
    cap: f64,
    temperature: posenc1_temperature,
    log_sum_exp: *mut f64,
    scores: *mut c_void,
    weights: *mut c_void,
    key_bias: *const posenc1_key_bias,
    profiles: posenc1_profiles,
    tau: f64,
});
record!(posenc1_gradients {
    outputs: posenc1_heads,
    queries: posenc1_heads,
    keys: posenc1_heads,
    values: posenc1_heads,
});
record!(posenc1_worker {
    index: usize,
    count: usize,
    barrier: Option<unsafe extern "C" fn(*mut c_void)>,
    barrier_argument: *mut c_void,
    memory: *mut c_void,
    memory_bytes: usize,
});

extern "C" {
    pub fn posenc1_error() -> *const c_char;
    pub fn posenc1_version() -> *const c_char;
    pub fn posenc1_instruction_set() -> *const c_char;
    pub fn posenc1_has_dot_products() -> c_int;
    pub fn posenc1_alibi_slopes(
        heads: usize,
        max_bias: f64,
        factor: f64,
        slopes: *mut f64,
    ) -> posenc1_status;
    pub fn posenc1_frequencies_of_base(
        rotary_dim: usize,
        base: f64,
        result: *mut *mut posenc1_frequencies,
    ) -> posenc1_status;
    pub fn posenc1_frequencies_of_numbers(
        inv_freq: *const f64,
        pairs: usize,
        attention_factor: f64,
        result: *mut *mut posenc1_frequencies,
    ) -> posenc1_status;
    pub fn posenc1_frequencies_of_rule(
        of: *const posenc1_frequencies,
        rule: *const c_char,
        parameters: *const posenc1_parameter,
        count: usize,
        result: *mut *mut posenc1_frequencies,
    ) -> posenc1_status;
    pub fn posenc1_frequencies_of_model(
        file: *const c_char,
        layer: usize,
        length: usize,
        description: *mut posenc1_layer,
        result: *mut *mut posenc1_frequencies,
    ) -> posenc1_status;
    pub fn posenc1_frequencies_read(
        f: *const posenc1_frequencies,
        inv_freq: *mut f64,
        attention_factor: *mut f64,
    ) -> usize;
    pub fn posenc1_frequencies_destroy(f: *mut posenc1_frequencies);
    pub fn posenc1_frequencies_on_axes(
        of: *const posenc1_frequencies,
        axes: posenc1_axes,
        numbers: *const usize,
        count: usize,
        result: *mut *mut posenc1_frequencies,
    ) -> posenc1_status;
    pub fn posenc1_frequencies_axes(
        f: *const posenc1_frequencies,
        axis_of_pair: *mut usize,
    ) -> usize;
    pub fn posenc1_row_maker_create(
        f: *const posenc1_frequencies,
        table_range: i64,
        result: *mut *mut posenc1_row_maker,
    ) -> posenc1_status;
    pub fn posenc1_mixed_row_maker_create(
        inv_freq: *const f64,
        heads: usize,
        axes: usize,
        pairs: usize,
        attention_factor: f64,
        result: *mut *mut posenc1_row_maker,
    ) -> posenc1_status;
    pub fn posenc1_rerotation_create(
        from: *const posenc1_frequencies,
        to: *const posenc1_frequencies,
        result: *mut *mut posenc1_row_maker,
    ) -> posenc1_status;
    pub fn posenc1_format_bytes(
        format: posenc1_format,
        head_dim: usize,
        bytes: *mut usize,
        scale_bytes: *mut usize,
    ) -> posenc1_status;
    pub fn posenc1_write_rows(
        maker: *const posenc1_row_maker,
        positions: *const i64,
        from_positions: *const i64,
        tokens: usize,
        format: posenc1_format,
        memory: *mut c_void,
    ) -> posenc1_status;
    pub fn posenc1_write_fractional_rows(
        maker: *const posenc1_row_maker,
        positions: *const f64,
        from_positions: *const f64,
        tokens: usize,
        format: posenc1_format,
        memory: *mut c_void,
    ) -> posenc1_status;
    pub fn posenc1_row_maker_destroy(maker: *mut posenc1_row_maker);
    pub fn posenc1_ring_slots(
        first: usize,
        count: usize,
        capacity: usize,
        slots: *mut i64,
    ) -> posenc1_status;
    pub fn posenc1_page_bounds(
        keys: *const posenc1_heads,
        tokens: usize,
        heads: usize,
        head_dim: usize,
        page_tokens: usize,
        bounds: *mut c_void,
    ) -> posenc1_status;
    pub fn posenc1_rotate(
        rows: *const posenc1_rows,
        operands: *const posenc1_operand,
        count: usize,
        part: usize,
        parts: usize,
    ) -> posenc1_status;
    pub fn posenc1_hadamard(
        x: *const posenc1_heads,
        tokens: usize,
        heads: usize,
        head_dim: usize,
        block: usize,
    ) -> posenc1_status;
    pub fn posenc1_key_bias_create(
        f: *const posenc1_frequencies,
        bias: *const f32,
        kv_heads: usize,
        heads: usize,
        head_dim: usize,
        layout: posenc1_layout,
        first_dim: usize,
        hadamard: usize,
        result: *mut *mut posenc1_key_bias,
    ) -> posenc1_status;
    pub fn posenc1_key_bias_at(
        bias: *const posenc1_key_bias,
        positions: *const i64,
        tokens: usize,
        delta: i64,
        result: *mut *mut posenc1_key_bias,
    ) -> posenc1_status;
    pub fn posenc1_key_bias_destroy(bias: *mut posenc1_key_bias);
    pub fn posenc1_attention_memory(
        attention: *const posenc1_attention,
        first: usize,
        last: usize,
        bytes: *mut usize,
    ) -> posenc1_status;
    pub fn posenc1_attend(
        attention: *const posenc1_attention,
        first: usize,
        last: usize,
    ) -> posenc1_status;
    pub fn posenc1_attention_backward_memory(
        attention: *const posenc1_attention,
        first: usize,
        last: usize,
        bytes: *mut usize,
    ) -> posenc1_status;
    pub fn posenc1_attention_backward(
        attention: *const posenc1_attention,
        gradients: *const posenc1_gradients,
        first: usize,
        last: usize,
    ) -> posenc1_status;
    pub fn posenc1_attention_memory_of(
        attentions: *const posenc1_attention,
        count: usize,
        workers: usize,
        bytes: *mut usize,
    ) -> posenc1_status;
    pub fn posenc1_attend_as(
        attentions: *const posenc1_attention,
        count: usize,
        worker: *const posenc1_worker,
    ) -> posenc1_status;
}
