// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what Inspect reads, and of what an image may take.
const (
	maxArchive = 1 << 30
	maxProgram = 128 << 20
	maxPacked  = 48 << 20
)

// Platform is the content of an archive for one architecture.
type Platform struct {
	OS, Architecture string
	Created          time.Time
	Config           Config
	// Packed is the size of all layers as they are downloaded, in bytes.
	Packed int64
	// Files are the entries of all layers.
	Files []Entry
}

// Inspect reads an OCI archive. A digest or a size that does not hold is an error, and so is an archive of
// more than 1 GiB.
func Inspect(file string) ([]Platform, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	platforms, err := inspect(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return platforms, nil
}

type contents map[string][]byte

func inspect(r io.Reader) ([]Platform, error) {
	entries, err := untar(r)
	if err != nil {
		return nil, err
	}
	files := contents{}
	for _, e := range entries {
		files[e.Name] = e.Content
	}
	var layout struct {
		Version string `json:"imageLayoutVersion"`
	}
	if err := json.Unmarshal(files["oci-layout"], &layout); err != nil {
		return nil, fmt.Errorf("oci-layout: %w", err)
	}
	if layout.Version != "1.0.0" {
		return nil, fmt.Errorf("oci-layout: version %q, want 1.0.0", layout.Version)
	}
	var root, index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &root); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	if len(root.Manifests) != 1 {
		return nil, fmt.Errorf("index.json: names %d images, want 1", len(root.Manifests))
	}
	if err := files.read(root.Manifests[0], typeIndex, &index); err != nil {
		return nil, err
	}
	var platforms []Platform
	for _, m := range index.Manifests {
		p, err := files.platform(m)
		if err != nil {
			return nil, err
		}
		platforms = append(platforms, *p)
	}
	return platforms, nil
}

// read is a JSON blob.
func (c contents) read(d descriptor, mediaType string, into any) error {
	content, err := c.blob(d, mediaType)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", d.Digest, err)
	}
	return nil
}

func (c contents) blob(d descriptor, mediaType string) ([]byte, error) {
	content, ok := c["blobs/"+strings.ReplaceAll(d.Digest, ":", "/")]
	switch is := newBlob(mediaType, content); {
	case !ok:
		return nil, fmt.Errorf("%s: is named and not there", d.Digest)
	case is.Digest != d.Digest || is.Size != d.Size || mediaType != d.MediaType:
		return nil, fmt.Errorf("%s, %d bytes of %s: is %s, %d bytes of %s", d.Digest, d.Size, d.MediaType, is.Digest, is.Size, mediaType)
	}
	return content, nil
}

func (c contents) platform(of descriptor) (*Platform, error) {
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	if err := c.read(of, typeManifest, &manifest); err != nil {
		return nil, err
	}
	var config struct {
		OS, Architecture string
		Created          time.Time
		Config           Config
		Rootfs           struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := c.read(manifest.Config, typeConfig, &config); err != nil {
		return nil, err
	}
	if want := (platform{config.OS, config.Architecture}); of.Platform == nil || *of.Platform != want {
		return nil, fmt.Errorf("%s: the index says %v, the configuration %v", of.Digest, of.Platform, want)
	}
	p := &Platform{OS: config.OS, Architecture: config.Architecture, Created: config.Created, Config: config.Config}
	var unpacked []string
	for _, l := range manifest.Layers {
		packed, err := c.blob(l, typeLayer)
		if err != nil {
			return nil, err
		}
		content, err := gunzip(packed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Digest, err)
		}
		files, err := untar(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Digest, err)
		}
		p.Packed += l.Size
		p.Files = append(p.Files, files...)
		unpacked = append(unpacked, newBlob(typeLayer, content).Digest)
	}
	if !slices.Equal(unpacked, config.Rootfs.DiffIDs) {
		return nil, fmt.Errorf("%s: layers %q, the configuration says %q", of.Digest, unpacked, config.Rootfs.DiffIDs)
	}
	return p, nil
}

func gunzip(packed []byte) ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(in, maxArchive+1))
	if err == nil && len(content) > maxArchive {
		err = fmt.Errorf("more than %d bytes", maxArchive)
	}
	return content, err
}

func untar(r io.Reader) ([]Entry, error) {
	limited := &io.LimitedReader{R: r, N: maxArchive + 1}
	var entries []Entry
	for in := tar.NewReader(limited); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, err
		}
		if limited.N == 0 {
			return nil, fmt.Errorf("more than %d bytes", maxArchive)
		}
		if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir {
			return nil, fmt.Errorf("%s: neither a file nor a folder", header.Name)
		}
		if header.ModTime.Unix() != 0 || header.Uid != 0 || header.Gid != 0 {
			return nil, fmt.Errorf("%s: from %s, of user %d and group %d; want the beginning of 1970 and root", header.Name, header.ModTime.UTC(), header.Uid, header.Gid)
		}
		entries = append(entries, Entry{Name: header.Name, Mode: header.Mode, Content: content})
	}
}

// Problems returns the reasons why an image may not be released: its user, its files, its labels.
func (p Platform) Problems() []string {
	var all []string
	problem := func(format string, arguments ...any) {
		all = append(all, p.OS+"/"+p.Architecture+": "+fmt.Sprintf(format, arguments...))
	}
	user, group, _ := strings.Cut(p.Config.User, ":")
	for _, id := range []string{user, group} {
		if n, err := strconv.ParseUint(id, 10, 31); err != nil || n == 0 {
			problem("runs as %q: want the numbers of an unprivileged user and group", p.Config.User)
			break
		}
	}
	for _, name := range []string{"title", "description", "source", "licenses", "version", "revision"} {
		if p.Config.Labels["org.opencontainers.image."+name] == "" {
			problem("the label org.opencontainers.image.%s is not set", name)
		}
	}
	if p.Packed > maxPacked {
		problem("layers of %d bytes, want %d at most", p.Packed, maxPacked)
	}
	if len(p.Files) != 1 {
		problem("holds %d files and folders, want the program alone", len(p.Files))
		return all
	}
	program := p.Files[0]
	if !slices.Equal(p.Config.Entrypoint, []string{"/" + program.Name}) {
		problem("the entrypoint is %q, the program %q", p.Config.Entrypoint, program.Name)
	}
	if program.Mode != 0o755 || len(program.Content) > maxProgram {
		problem("the program has mode %o and %d bytes, want mode 755 and %d bytes at most", program.Mode, len(program.Content), maxProgram)
	}
	if built, err := architectureOf(program.Content); err != nil || built != p.Architecture {
		problem("the program is for %q: %v", built, err)
	}
	return all
}
