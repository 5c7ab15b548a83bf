# The names and keys in strings of headers, as the dictionary of a fuzz target: lists of words that are no sentences.
BEGIN {
  FS = "\""
  print "\"-1\"\n\"0.5\"\n\"1e308\"\n\"65536\"\n\"false\"\n\"null\"\n\"true\"\n\"\\\"Infinity\\\"\""
}
{
  sub(/\/\/.*/, "")
  for (i = 2; i <= NF; i += 2)
    if ($i ~ /^[a-z0-9_ -]+$/ && (" " $i " ") !~ / (an?|and|are|at|be|for|from|has|have|is|its?|must|not|of|or|that|the|this|those|to|where|which|with) /)
      for (j = split($i, word, " "); j > 0; --j)
        if (!seen[word[j]]++) print "\"\\\"" word[j] "\\\"\""
}
