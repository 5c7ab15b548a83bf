constexpr bool fuses = requires(number x) {
  fused(x.data, x.data, x.data);
};
number load(void const* from) { return load_halves(from); }
