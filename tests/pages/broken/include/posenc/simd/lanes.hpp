constexpr bool fuses = requires(number x) {
  fused(x.data, x.data, x.data);
};
number load(void const* from) { return load_halves(from); }
/// Of a number, its
/// own. Where is it? Those of it.
constexpr auto error = "must be of its own, got ";
int x;  ///< the same of x
