#compdef kvsweep
# Completion of kvsweep for zsh: eval "$(kvsweep completion zsh)"
_kvsweep() {
  local options= values=
  if [[ ${words[CURRENT-1]} == --set ]]; then
    if compset -P '*='; then
      case ${IPREFIX%=} in
@VALUES@      esac
      compadd -- ${=values}
    else
      compadd -S = -- @KEYS@
    fi
  elif (( CURRENT == 2 )) || [[ ${words[CURRENT-1]} == help ]]; then
    compadd -- @COMMANDS@ help
  elif [[ ${words[CURRENT]} == -* ]]; then
    case ${words[2]} in
@OPTIONS@    esac
    compadd -- ${=options} --help
  else
    _files
  fi
}
compdef _kvsweep kvsweep
