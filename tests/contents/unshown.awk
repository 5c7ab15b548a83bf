# Which public names stand in none of the other files: the first file has lines "header name: members".
FNR == NR { if ($1 !~ /(^|\/)detail\/|^(c|simd)\//) { sub(/:$/, "", $2); header[$2] = $1 }; next }
{
  gsub(/[^A-Za-z_0-9]+/, " ")
  for (i = 1; i <= NF; ++i) shown[$i] = 1
}
END { for (name in header) if (!(name in shown)) print name ", which posenc/" header[name] " has" }
