namespace posenc { inline namespace POSENC_TARGET {
class alibi {
 public:
  std::size_t heads() const;
  double bias(std::size_t head, std::int64_t distance) const;
  double gone() const;

 private:
  double hidden;
};
inline void also_gone();
}}  // namespace posenc
