# SPDX-License-Identifier: Apache-2.0
# Read by the scripts that start probes whose language can't choose its CPU; `question` and `native` are set.

# A model of serve/ is measured by the instrument, which starts it again.
case $question:$1 in serve:--serve | serve:--about) ;; serve:*)
  exec "${STEELYARD_PYTHON:-python3}" "$native/probes/support/serve/drive.py" "$0" "$@" ;;
esac

# `place` is set to the command that moves a run to one CPU, or to nothing. `same` takes the last CPU allowed: CPU 0 is the
# one that interrupts prefer.
place=
case " $* " in
*" --placement cross "* | *" --placement free "*) ;;
*)
  if allowed=$(taskset -pc $$ 2>/dev/null); then place="taskset -c ${allowed##*[ ,-]}"; fi ;;
esac
