// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/keypair"
)

// maxFile bounds what is read of one file, in bytes. A Secret holds 1 MiB at most.
const maxFile = 1 << 20

// load reads and parses the folder. Errors name the path, the file and the remedy.
func load(path, serverName string, now time.Time) (*keypair.Pair, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("certificate folder %s: does not exist: mount the Secret with the webhook's certificate there", path)
	case err != nil:
		return nil, fmt.Errorf("certificate folder %s: %w", path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("certificate folder %s: is not a folder: name the folder that holds %s and %s", path, certs.CertKey, certs.PrivateKey)
	}
	var contents keypair.Contents
	for _, one := range []struct {
		file     string
		into     *[]byte
		optional bool
	}{{certs.CertKey, &contents.Certificate, false}, {certs.PrivateKey, &contents.Key, false}, {certs.CAKey, &contents.CA, true}} {
		text, err := read(path, one.file)
		if err != nil && (!one.optional || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("certificate folder %s: %s: %w", path, one.file, err)
		}
		*one.into = text
	}
	found, err := keypair.Parse(contents, serverName, now)
	if err != nil {
		return nil, fmt.Errorf("certificate folder %s: %w", path, err)
	}
	return found, nil
}

func read(path, file string) ([]byte, error) {
	whole := filepath.Join(path, file)
	info, err := os.Stat(whole)
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file") // to open a pipe would block
	}
	var text []byte
	if err == nil {
		text, err = readBounded(whole)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("does not exist: the Secret must have the key %s: %w", file, fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("may not be read by this process: check the file's mode, or fsGroup of the pod: %w", fs.ErrPermission)
	}
	return text, err
}

func readBounded(whole string) ([]byte, error) {
	opened, err := os.Open(whole) //nolint:gosec // the user who starts the process names the folder
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }()
	text, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err == nil && len(text) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return text, err
}
