// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package vet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet/files"
)

// BenchmarkObjects checks the samples, comments and all. The metric counts the objects of a second of
// processor time, which other work on the machine does not change.
func BenchmarkObjects(b *testing.B) {
	paths, err := filepath.Glob("../../../config/samples/*_*.yaml")
	if err != nil || len(paths) == 0 {
		b.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(path), func(b *testing.B) {
			v := New(Options{Workers: 1})
			check := func(n int) {
				summary, err := v.Run(b.Context(), func(visit files.Visit) error {
					return visit("many", bytes.NewReader(bytes.Repeat(append([]byte("---\n"), text...), n)))
				}, func(Object) error { return nil })
				if err != nil || summary.Objects != n || summary.Errors > 0 {
					b.Fatal(fmt.Sprint(summary), err)
				}
			}
			check(1) // which compiles the CRD
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			b.ResetTimer()
			before := spent(b)
			check(b.N)
			b.ReportMetric(float64(b.N)/(spent(b)-before).Seconds(), "objects/cpu-s")
		})
	}
}

// spent is the processor time of this process.
func spent(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
