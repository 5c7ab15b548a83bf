inline void load_halves(void const* from, float32x4_t& x) noexcept;
