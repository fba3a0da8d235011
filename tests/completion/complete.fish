# complete.fish FOLDER: for each line before "|" in FOLDER/lines what fish offers, "LINE<tab>WORD".
source $argv[1]/_foretoken
while read -l entry
    set -l line (string split -f1 '|' -- $entry)
    for offer in (complete --do-complete $line)
        # Without the description; of "--gpu=x" and "a,b" fish gives the whole word.
        set -l word (string split -f1 \t -- $offer)
        printf '%s\t%s\n' $line (string replace -r '^--[a-z-]+=' '' -- $word)
    end
end <$argv[1]/lines
