# complete.bash FOLDER: for each line before "|" in FOLDER/lines what bash offers, "LINE<tab>WORD".
source "$1/_foretoken"
while IFS='|' read -r line _; do
  COMP_LINE=$line COMP_POINT=${#line}
  # Words as readline cuts them: "=" is one of its own.
  read -ra COMP_WORDS <<<"${line//=/ = }"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _foretoken
  for word in "${COMPREPLY[@]}"; do printf '%s\t%s\n' "$line" "$word"; done
done <"$1/lines"
