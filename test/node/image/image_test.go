// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const repositorys = "../../../Dockerfile"

func TestTheImageIsWhatTheDockerfileShips(t *testing.T) {
	stage, err := Dockerfile(repositorys, map[string]string{"VERSION": "one"})
	if err != nil {
		t.Fatal(err)
	}
	if stage.Program != "/fairlead" || stage.Labels["org.opencontainers.image.version"] != "one" || stage.Labels["org.opencontainers.image.title"] != "fairlead" {
		t.Errorf("program %q, labels %v", stage.Program, stage.Labels)
	}
	got := Config{User: stage.User, Entrypoint: stage.Entrypoint, Cmd: stage.Cmd}
	want := Config{User: "65532:65532", Entrypoint: []string{"/fairlead"}, Cmd: []string{"manager"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNotUnderstoodOfADockerfileIsAnError(t *testing.T) {
	const last = "COPY --from=build /a /a\nENTRYPOINT [\"/a\"]\n"
	for name, c := range map[string]struct{ content, says string }{
		"nothing":                      {"# a comment\n", "no FROM"},
		"an instruction":               {"FROM scratch\n" + last + "RUN true\n", "RUN true: not known here"},
		"a second copy":                {"FROM scratch\n" + last + "COPY --from=build /b /b\n", "COPY --from=build /b /b"},
		"an entrypoint for a shell":    {"FROM scratch\nCOPY --from=build /a /a\nENTRYPOINT /a\n", "ENTRYPOINT /a"},
		"an entrypoint of nothing":     {"FROM scratch\nENTRYPOINT [\"/a\"]\n", "must copy one program"},
		"a last stage without program": {"FROM scratch AS build\n" + last + "FROM scratch\n", "must copy one program"},
	} {
		if _, err := lastStage(c.content, nil); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALaterStageForgetsWhatAnEarlierOneSaid(t *testing.T) {
	stage, err := lastStage(`
FROM golang AS build
ARG VERSION=dev
RUN go build \
    # a comment in between
    ./cmd
FROM scratch
ARG VERSION=dev
LABEL a="$VERSION b" \
      c=d
COPY --from=build /a /a
ENTRYPOINT ["/a"]
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "dev b", "c": "d"}, stage.Labels); diff != "" {
		t.Error(diff)
	}
}

func TestAnImageIsReproducibleAndItsDigestsHold(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "program")
	content := executable(elf.PT_LOAD)
	if err := os.WriteFile(program, content, 0o600); err != nil {
		t.Fatal(err)
	}
	i := Image{Reference: "localhost/fairlead:one", Program: program, Stage: &Stage{Program: "/fairlead", Config: Config{User: "65532:65532"}}}
	var archives [2][]byte
	for n := range archives {
		file := filepath.Join(folder, "image.tar")
		if err := i.WriteFile(file); err != nil {
			t.Fatal(err)
		}
		archives[n], _ = os.ReadFile(file)
	}
	if len(archives[0]) == 0 || !bytes.Equal(archives[0], archives[1]) {
		t.Errorf("two images of the same differ, in %d and %d bytes", len(archives[0]), len(archives[1]))
	}
	files := unpack(t, archives[0])
	for name, f := range files {
		digest, is := strings.CutPrefix(name, "blobs/sha256/")
		if sum := sha256.Sum256(f.content); is && digest != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another digest", name)
		}
	}
	var index struct{ Manifests []descriptor }
	read(t, files, "index.json", &index)
	if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != i.Reference {
		t.Errorf("the image is named %q", got)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	read(t, files, blobPath(index.Manifests[0]), &manifest)
	var config struct {
		Config Config
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	read(t, files, blobPath(manifest.Config), &config)
	if config.Config.User != "65532:65532" {
		t.Errorf("the user is %q", config.Config.User)
	}
	if diff := cmp.Diff([]string{manifest.Layers[0].Digest, manifest.Layers[1].Digest}, config.Rootfs.DiffIDs); diff != "" {
		t.Error(diff)
	}
	if got := unpack(t, files[blobPath(manifest.Layers[1])].content)["fairlead"]; got.mode != 0o755 || !bytes.Equal(got.content, content) {
		t.Errorf("the program has mode %o and %d bytes", got.mode, len(got.content))
	}
	if got := unpack(t, files[blobPath(manifest.Layers[0])].content)["tmp/"]; got.mode != 0o1777 {
		t.Errorf("/tmp has mode %o", got.mode)
	}
}

func TestAProgramThatThisImageCannotRunIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"a script":  {[]byte("#!/bin/sh\n"), "no program for Linux"},
		"a dynamic": {executable(elf.PT_INTERP), "CGO_ENABLED=0"},
	} {
		program := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		err := Image{Reference: "localhost/fairlead:one", Program: program, Stage: &Stage{}}.WriteFile(filepath.Join(t.TempDir(), "image.tar"))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// executable is the smallest file that says of itself that it is a program with one part.
func executable(part elf.ProgType) []byte {
	var content bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01") // 64 bits, the lower byte first
	_ = binary.Write(&content, binary.LittleEndian, header)
	_ = binary.Write(&content, binary.LittleEndian, elf.Prog64{Type: uint32(part)})
	return content.Bytes()
}

func blobPath(d descriptor) string { return "blobs/" + strings.ReplaceAll(d.Digest, ":", "/") }

func unpack(t *testing.T, archive []byte) map[string]file {
	t.Helper()
	files := map[string]file{}
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = file{name: header.Name, mode: header.Mode, content: content}
	}
}

func read(t *testing.T, files map[string]file, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(files[name].content, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
