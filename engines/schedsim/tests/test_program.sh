#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program: usage sh test_program.sh PROGRAM SOURCE_FOLDER
set -eu
program=$1
source=$2
fail() { echo "WRONG: $1"; exit 1; }
say() { printf '%s\n' "$1" | "$program"; }

# Every file of policies/ is a policy with a source.
listed=$(say '{"do":"policies"}')
for file in "$source"/policies/*.cpp; do
  name=$(basename "$file" .cpp)
  case $listed in *"\"name\":\"$name\""*) ;; *) fail "$name is not listed" ;; esac
done
case $listed in *'"source":""'*) fail "a policy without a source" ;; esac

# A request is answered in its line; a mistake is one sentence, and the others are answered all the same.
answers=$(printf '%s\n' '{"do":"yield","policy":"linux_2_0_30","contexts":4}' nonsense '{"do":"policies"}' |
  "$program") \
  && fail "exit code 0 with a mistake"
[ "$(printf '%s\n' "$answers" | wc -l)" = 3 ] || fail "three requests, three answers"
case $answers in *'"recalculations_per_yield":0.25'*) ;; *) fail "1 recalculation in 4 yields" ;; esac
case $answers in *'"line":2'*) ;; *) fail "the line of the mistake" ;; esac

# A shorter name of a policy is as good.
[ "$(say '{"do":"yield","policy":"changed"}')" = "$(say '{"do":"yield","policy":"linux_2_0_30_one_tick"}')" ] ||
  fail "the alias"
case $(say '{"do":"tasks","policy":"o1","length_ns":1000000,"tasks":[{"name":"a","then":"forever"}]}') in
  *'"classes":[{"name":"a","tasks":1,"busy_ns":1000000,'*) ;;
  *) fail "a task that runs for ever" ;;
esac

for request in '{"do":"nothing"}' '{"do":"yield"}' '{"do":"yield","policy":"fifo"}' \
  '{"do":"yield","policy":"cfs","contexts":0}' '{"do":"yield","policy":"cfs","context":2}' '[]' \
  '{"do":"calibrate","points":[]}' \
  '{"do":"tasks","policy":"cfs","tasks":[]}' '{"do":"tasks","policy":"cfs","tasks":[{"name":"a"}]}' \
  '{"do":"tasks","policy":"cfs","tasks":[{"name":"a","then":"pause","run":{"constant":0},"pause":{"constant":0}}]}' \
  '{"do":"tasks","policy":"cfs","tasks":[{"name":"a","then":"yield","run":{"constant":0}}]}' \
  '{"do":"yield","policy":"cfs","costs":{"entry_ns":-1}}' '{"do":"replay","policy":"cfs","trace":"/nowhere"}'; do
  answer=$(say "$request") && fail "exit code 0 for $request"
  case $answer in '{"error":'*) ;; *) fail "$request was answered by $answer" ;; esac
done

# The studies can be asked as they stand; twice the same.
first=$("$program" "$source"/studies/travis_1998.jsonl)
[ "$first" = "$("$program" "$source"/studies/travis_1998.jsonl)" ] || fail "two runs differ"
"$program" --help | grep -q usage || fail "no help"
"$program" /nowhere 2>/dev/null && fail "exit code 0 for a file that is not there"
exit 0
