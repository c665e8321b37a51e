// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"io"
	"os"
)

// tail returns the whole lines at the end of a file, at most limit bytes of them, and nothing that
// stands before the offset from.
func tail(path string, from, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	stat, err := f.Stat()
	if err != nil {
		return "", err
	}
	start := max(from, stat.Size()-limit)
	b, err := io.ReadAll(io.NewSectionReader(f, start, limit))
	if err != nil {
		return "", err
	}
	if start > from {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return string(b), nil
}
