// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"strconv"
	"strings"
)

// Memory of this process, in bytes: resident pages of user space, and page tables.
type Memory struct{ resident, pageTables uint64 }

// MemoryNow reads it; skips the run where the kernel does not say.
func MemoryNow() Memory {
	return Memory{memoryField("/proc/self/smaps_rollup", "Rss"), memoryField("/proc/self/status", "VmPTE")}
}

// CountMemory reports what has grown, for the metrics of MemoryMetrics.
func (value *Value) CountMemory(before, now Memory) {
	value.Count("resident_bytes", now.resident-min(before.resident, now.resident))
	value.Count("page_table_bytes", now.pageTables-min(before.pageTables, now.pageTables))
}

// MemoryMetrics are the figures of a probe that suspends contexts and resumes each once a batch.
func MemoryMetrics() []Metric {
	return []Metric{
		{"resident", "B", "lower", "resident_bytes", "operations", "resident bytes of user space a suspended context"},
		{"page_tables", "B", "lower", "page_table_bytes", "operations", "page tables a suspended context"},
		{"resume", "s", "lower", "wall", "operations", "time to resume a context and suspend it again"},
	}
}

// memoryField reads the field of a file of lines `Name:  N kB`, in bytes.
func memoryField(path, name string) uint64 {
	text, err := os.ReadFile(path)
	if err != nil {
		Skip("%s cannot be read: this kernel does not say what memory it uses", path)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			if fields := strings.Fields(rest); len(fields) > 0 {
				kilobytes, _ := strconv.ParseUint(fields[0], 10, 64)
				return kilobytes * 1024
			}
		}
	}
	return 0
}
