namespace posenc { inline namespace POSENC_TARGET {
inline int helps() { return 0; }

template <class>
class claims_nothing {};
}}  // namespace posenc
