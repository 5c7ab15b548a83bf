# Which names and declarations of the first file the second has not. "key: member member" is several.
{
  key = $0; members = ""
  if (match(key, /: /)) { members = substr(key, RSTART + 2); key = substr(key, 1, RSTART - 1) }
  count = split(members, member, " ")
  names[0] = key
  for (i = 1; i <= count; ++i) names[i] = key "." member[i]
  for (i = 0; i <= count; ++i)
    if (FILENAME == ARGV[2]) has[names[i]] = 1
    else wanted[++number] = names[i]
}
END { for (i = 1; i <= number; ++i) if (!(wanted[i] in has)) print "  " wanted[i] }
