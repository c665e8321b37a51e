// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Media types of the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// epoch is every time in an image, so that the same input makes the same bytes.
var epoch = time.Unix(0, 0).UTC()

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

type blob struct {
	descriptor
	content []byte
}

func newBlob(mediaType string, content []byte) blob {
	sum := sha256.Sum256(content)
	return blob{descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(content))}, content}
}

// newDocument is the blob of a JSON document.
func newDocument(mediaType string, document any) (blob, error) {
	raw, err := json.Marshal(document)
	return newBlob(mediaType, raw), err
}

// Image is one static program, for one or several architectures.
type Image struct {
	// Reference is the image's full name with its tag, such as localhost/fairlead:one.
	Reference string
	// Stage says where the program goes and how it is run.
	Stage *Stage
	// Programs are files on the host, one for each architecture. The default of none is an error.
	Programs []string
	// Created is the time that the image gives as its own, in full seconds, such as that of the commit. Files in
	// it have the beginning of 1970.
	Created time.Time
}

// WriteFile writes the image as an OCI archive: one index, with a manifest for each program. It returns the
// digest of that index, which is the image's. The same input makes the same bytes.
func (i Image) WriteFile(file string) (digest string, err error) {
	named, blobs, err := i.blobs()
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Reference, err)
	}
	_, tag, _ := strings.Cut(path.Base(i.Reference), ":")
	named.Annotations = map[string]string{"io.containerd.image.name": i.Reference, "org.opencontainers.image.ref.name": tag}
	root, err := newDocument(typeIndex, manifests(nil, named))
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Reference, err)
	}
	all := []Entry{
		{Name: "oci-layout", Mode: 0o644, Content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{Name: "index.json", Mode: 0o644, Content: root.content},
	}
	for _, b := range blobs {
		all = append(all, Entry{Name: "blobs/" + strings.ReplaceAll(b.Digest, ":", "/"), Mode: 0o644, Content: b.content})
	}
	f, err := os.Create(file)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Reference, err)
	}
	err = Tar(f, all, epoch)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Reference, err)
	}
	return named.Digest, nil
}

// blobs are the index of the image, and all that it leads to.
func (i Image) blobs() (descriptor, []blob, error) {
	var platforms []descriptor
	var all []blob
	for _, file := range i.Programs {
		program, err := os.ReadFile(file)
		if err != nil {
			return descriptor{}, nil, err
		}
		architecture, err := architectureOf(program)
		if err != nil {
			return descriptor{}, nil, fmt.Errorf("%s: %w", file, err)
		}
		if slices.ContainsFunc(platforms, func(d descriptor) bool { return d.Platform.Architecture == architecture }) {
			return descriptor{}, nil, fmt.Errorf("%s: a second program for %s", file, architecture)
		}
		manifest, blobs, err := i.forPlatform(program, architecture)
		if err != nil {
			return descriptor{}, nil, fmt.Errorf("%s: %w", file, err)
		}
		platforms, all = append(platforms, manifest), append(all, blobs...)
	}
	if len(platforms) == 0 {
		return descriptor{}, nil, errors.New("no program is given")
	}
	index, err := newDocument(typeIndex, manifests(i.Stage.Labels, platforms...))
	return index.descriptor, append(all, index), err
}

func manifests(annotations map[string]string, of ...descriptor) map[string]any {
	index := map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": of}
	if len(annotations) > 0 {
		index["annotations"] = annotations
	}
	return index
}

// forPlatform is the manifest of one program, and what it leads to.
func (i Image) forPlatform(program []byte, architecture string) (descriptor, []blob, error) {
	var plain, packed bytes.Buffer
	out := gzip.NewWriter(&packed)
	content := []Entry{{Name: strings.TrimPrefix(i.Stage.Program, "/"), Mode: 0o755, Content: program}}
	if err := Tar(io.MultiWriter(&plain, out), content, epoch); err != nil {
		return descriptor{}, nil, err
	}
	if err := out.Close(); err != nil {
		return descriptor{}, nil, err
	}
	layer := newBlob(typeLayer, packed.Bytes())
	created := epoch
	if !i.Created.IsZero() {
		created = i.Created.UTC().Truncate(time.Second)
	}
	config, err := newDocument(typeConfig, map[string]any{
		"created": created, "os": "linux", "architecture": architecture, "config": i.Stage.Config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{newBlob(typeLayer, plain.Bytes()).Digest}},
	})
	if err != nil {
		return descriptor{}, nil, err
	}
	manifest, err := newDocument(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config.descriptor, "layers": []descriptor{layer.descriptor},
	})
	manifest.Platform = &platform{OS: "linux", Architecture: architecture}
	return manifest.descriptor, []blob{manifest, config, layer}, err
}

// architectureOf names what a program was built for, as Go and images do. It refuses a program that needs a
// loader, which the image does not hold: the kernel would say "no such file" about the program itself.
func architectureOf(program []byte) (string, error) {
	parsed, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("no program for Linux: %w", err)
	}
	for _, part := range parsed.Progs {
		if part.Type == elf.PT_INTERP {
			return "", errors.New("not static: build it with CGO_ENABLED=0")
		}
	}
	switch parsed.Machine { //nolint:exhaustive // what images are made for
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	}
	return "", fmt.Errorf("built for %s: build it for amd64 or arm64", parsed.Machine)
}

// Entry is one entry of a tar archive; a name that ends in a slash is a folder.
type Entry struct {
	Name    string
	Mode    int64
	Content []byte
}

// Tar writes the entries in their order, owned by root, and each with the same time.
func Tar(w io.Writer, entries []Entry, modified time.Time) error {
	out := tar.NewWriter(w)
	for _, e := range entries {
		header := &tar.Header{Name: e.Name, Mode: e.Mode, Size: int64(len(e.Content)), ModTime: modified, Typeflag: tar.TypeReg}
		if strings.HasSuffix(e.Name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(e.Content); err != nil {
			return err
		}
	}
	return out.Close()
}
