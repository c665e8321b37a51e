// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"time"

	"github.com/fairlead-dev/fairlead/test/image"
)

// archiveName returns the name of a platform's archive. It is the same in every release.
func archiveName(p Platform) string {
	if p.OS == "windows" {
		return "fairlead-" + p.String() + ".zip"
	}
	return "fairlead-" + p.String() + ".tar.gz"
}

// programName returns the name of the program in the archive.
func programName(p Platform) string {
	if p.OS == "windows" {
		return "fairlead.exe"
	}
	return "fairlead"
}

// writeArchive writes files for people to unpack, as a zip for Windows.
func writeArchive(file string, p Platform, entries []image.Entry, modified time.Time) error {
	write := packTar
	if p.OS == "windows" {
		write = packZip
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = write(f, entries, modified)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func packTar(w io.Writer, entries []image.Entry, modified time.Time) error {
	out := gzip.NewWriter(w)
	if err := image.Tar(out, entries, modified); err != nil {
		return err
	}
	return out.Close()
}

func packZip(w io.Writer, entries []image.Entry, modified time.Time) error {
	out := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: modified}
		header.SetMode(os.FileMode(e.Mode))
		entry, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(e.Content); err != nil {
			return err
		}
	}
	return out.Close()
}
