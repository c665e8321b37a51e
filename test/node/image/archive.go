// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

// Media types of the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// epoch is every time in an image, so that the same input makes the same bytes.
var epoch = time.Unix(0, 0).UTC()

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
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

// Image is one program in an image.
type Image struct {
	// Reference is the image's full name with its tag, such as localhost/fairlead:one.
	Reference string
	// Stage says where the program goes and how it is run.
	Stage *Stage
	// Program is the file on the host.
	Program string
}

// WriteFile writes the image as an OCI archive.
func (i Image) WriteFile(file string) (err error) {
	program, err := os.ReadFile(i.Program)
	if err == nil {
		err = static(program)
	}
	if err != nil {
		return fmt.Errorf("image %s: %s: %w", i.Reference, i.Program, err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	err = i.write(f, program)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	return nil
}

// static refuses a program that needs a loader, which the image does not hold: the kernel would say "no
// such file" about the program itself.
func static(program []byte) error {
	parsed, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("no program for Linux: %w", err)
	}
	for _, part := range parsed.Progs {
		if part.Type == elf.PT_INTERP {
			return errors.New("not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

func (i Image) write(w io.Writer, program []byte) error {
	files, err := layer(baseFiles())
	if err != nil {
		return err
	}
	on, err := layer([]file{{name: strings.TrimPrefix(i.Stage.Program, "/"), mode: 0o755, content: program}})
	if err != nil {
		return err
	}
	config, err := newDocument(typeConfig, map[string]any{
		"created": epoch, "os": "linux", "architecture": runtime.GOARCH, "config": i.Stage.Config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{files.Digest, on.Digest}}, // not compressed, so the same
	})
	if err != nil {
		return err
	}
	manifest, err := newDocument(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config.descriptor, "layers": []descriptor{files.descriptor, on.descriptor},
	})
	if err != nil {
		return err
	}
	named := manifest.descriptor
	_, tag, _ := strings.Cut(path.Base(i.Reference), ":")
	named.Annotations = map[string]string{"io.containerd.image.name": i.Reference, "org.opencontainers.image.ref.name": tag}
	index, err := newDocument(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{named}})
	if err != nil {
		return err
	}
	all := []file{
		{name: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, content: index.content},
	}
	for _, b := range []blob{manifest, config, files, on} {
		all = append(all, file{name: "blobs/" + strings.ReplaceAll(b.Digest, ":", "/"), mode: 0o644, content: b.content})
	}
	return archive(w, all)
}

// file is one entry of an archive; a name that ends in a slash is a folder.
type file struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

func baseFiles() []file {
	return []file{
		{name: "tmp/", mode: 0o1777},
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "home/", mode: 0o755},
		{name: "home/nonroot/", mode: 0o700, owner: 65532},
	}
}

func layer(files []file) (blob, error) {
	var content bytes.Buffer
	err := archive(&content, files)
	return newBlob(typeLayer, content.Bytes()), err
}

func archive(w io.Writer, files []file) error {
	out := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), ModTime: epoch, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}
