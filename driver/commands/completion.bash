# Completion of kvsweep for bash: eval "$(kvsweep completion bash)"
# bash takes '=' for the end of a word, so that a value is a word of its own.
_kvsweep() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= values=
  COMPREPLY=()
  if [[ $before == "=" || $word == "=" ]]; then
    local key=${COMP_WORDS[COMP_CWORD-2]}
    [[ $word == "=" ]] && key=$before && word=
    case $key in
@VALUES@    esac
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $before == --set ]]; then
    compopt -o nospace 2>/dev/null
    COMPREPLY=($(compgen -S = -W "@KEYS@" -- "$word"))
  elif (( COMP_CWORD == 1 )) || [[ $before == help ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@ help" -- "$word"))
  elif [[ $word == -* ]]; then
    case ${COMP_WORDS[1]} in
@OPTIONS@    esac
    COMPREPLY=($(compgen -W "$options --help" -- "$word"))
  else
    compopt -o default 2>/dev/null
  fi
}
complete -F _kvsweep kvsweep
