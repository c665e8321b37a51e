// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const repositorys = "../../Dockerfile"

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
		"a base":                       {"FROM debian\n" + last, "FROM debian: the last stage must begin from scratch"},
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

// described is a stage that says all that a release must say of itself.
func described() *Stage {
	stage := &Stage{Program: "/fairlead", Config: Config{User: "65532:65532", Entrypoint: []string{"/fairlead"}, Labels: map[string]string{}}}
	for _, name := range []string{"title", "description", "source", "licenses", "version", "revision"} {
		stage.Labels["org.opencontainers.image."+name] = "x"
	}
	return stage
}

// both writes a program for each architecture.
func both(t *testing.T) []string {
	t.Helper()
	var programs []string
	for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
		program := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, executable(machine, elf.PT_LOAD), 0o600); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	return programs
}

func TestAnImageIsReproducibleAndHasBothArchitectures(t *testing.T) {
	created := time.Date(2026, 11, 23, 12, 0, 0, 5, time.FixedZone("", 3600))
	i := Image{Reference: "localhost/fairlead:one", Programs: both(t), Stage: described(), Created: created}
	file := filepath.Join(t.TempDir(), "image.tar")
	var archives [2][]byte
	var digests [2]string
	for n := range archives {
		var err error
		if digests[n], err = i.WriteFile(file); err != nil {
			t.Fatal(err)
		}
		archives[n], _ = os.ReadFile(file)
	}
	if len(archives[0]) == 0 || !bytes.Equal(archives[0], archives[1]) || digests[0] != digests[1] {
		t.Errorf("two images of the same differ: %d and %d bytes, %v", len(archives[0]), len(archives[1]), digests)
	}
	platforms, err := Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	var architectures []string
	for _, p := range platforms {
		architectures = append(architectures, p.OS+"/"+p.Architecture)
		if problems := p.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
		if want := time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC); !p.Created.Equal(want) {
			t.Errorf("created %s, want %s", p.Created, want)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, architectures); diff != "" {
		t.Error(diff)
	}
}

func TestAnImageWithoutATimeIsOf1970(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	if _, err := (Image{Reference: "localhost/fairlead:one", Programs: both(t), Stage: described()}).WriteFile(file); err != nil {
		t.Fatal(err)
	}
	if platforms, err := Inspect(file); err != nil || platforms[0].Created.Unix() != 0 {
		t.Errorf("%v, %v", platforms, err)
	}
}

// What Problems is for: each defect of an image that would be released is named.
func TestADefectOfAnImageIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Stage)
		says  string
	}{
		"root":               {func(s *Stage) { s.User = "0:0" }, `runs as "0:0"`},
		"root's group":       {func(s *Stage) { s.User = "65532:0" }, `runs as "65532:0"`},
		"a user by name":     {func(s *Stage) { s.User = "nonroot:nonroot" }, "want the numbers"},
		"no group":           {func(s *Stage) { s.User = "65532" }, "want the numbers"},
		"no user":            {func(s *Stage) { s.User = "" }, `runs as ""`},
		"another entrypoint": {func(s *Stage) { s.Entrypoint = []string{"/bin/sh"} }, "the entrypoint is"},
		"no label":           {func(s *Stage) { delete(s.Labels, "org.opencontainers.image.revision") }, "image.revision is not set"},
	} {
		stage := described()
		c.spoil(stage)
		file := filepath.Join(t.TempDir(), "image.tar")
		if _, err := (Image{Reference: "localhost/fairlead:one", Programs: both(t), Stage: stage}).WriteFile(file); err != nil {
			t.Fatal(err)
		}
		platforms, err := Inspect(file)
		if err != nil {
			t.Fatal(err)
		}
		if problems := strings.Join(platforms[0].Problems(), "\n"); !strings.Contains(problems, c.says) {
			t.Errorf("%s: %q, want it to say %q", name, problems, c.says)
		}
	}
	for name, c := range map[string]struct {
		platform Platform
		says     string
	}{
		"a second file": {Platform{Files: []Entry{{Name: "fairlead"}, {Name: "bin/sh"}}}, "holds 2 files"},
		"a mode":        {Platform{Files: []Entry{{Name: "fairlead", Mode: 0o4755}}}, "mode 4755"},
		"a script":      {Platform{Files: []Entry{{Name: "fairlead", Content: []byte("#!/bin/sh")}}}, "no program for Linux"},
		"a program for another machine": {Platform{
			Architecture: "arm64", Files: []Entry{{Name: "fairlead", Content: executable(elf.EM_X86_64, elf.PT_LOAD)}},
		}, `for "amd64"`},
		"a download without bound": {Platform{Packed: maxPacked + 1}, "want 50331648 at most"},
	} {
		if problems := strings.Join(c.platform.Problems(), "\n"); !strings.Contains(problems, c.says) {
			t.Errorf("%s: %q, want it to say %q", name, problems, c.says)
		}
	}
}

// A blob with another content than its digest says would be refused by every registry.
func TestAnArchiveThatWasChangedIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	if _, err := (Image{Reference: "localhost/fairlead:one", Programs: both(t), Stage: described()}).WriteFile(file); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := untar(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for n := range entries {
		var changed bytes.Buffer
		other := slices.Clone(entries)
		other[n].Content = append(slices.Clone(entries[n].Content), ' ')
		if strings.HasPrefix(entries[n].Name, "blobs/") {
			if err := Tar(&changed, other, epoch); err != nil {
				t.Fatal(err)
			}
			if _, err := inspect(&changed); err == nil || !strings.Contains(err.Error(), "sha256:") {
				t.Errorf("%s with a byte more: %v", entries[n].Name, err)
			}
		}
		changed.Reset()
		if err := Tar(&changed, slices.Delete(slices.Clone(entries), n, n+1), epoch); err != nil {
			t.Fatal(err)
		}
		if _, err := inspect(&changed); err == nil {
			t.Errorf("without %s: no error", entries[n].Name)
		}
	}
	var late bytes.Buffer
	if err := Tar(&late, entries, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect(&late); err == nil || !strings.Contains(err.Error(), "beginning of 1970") {
		t.Errorf("files with a time: %v", err)
	}
}

func TestAProgramThatThisImageCannotRunIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		says    string
	}{
		"a script":        {[]byte("#!/bin/sh\n"), "no program for Linux"},
		"a dynamic":       {executable(elf.EM_X86_64, elf.PT_INTERP), "CGO_ENABLED=0"},
		"another machine": {executable(elf.EM_RISCV, elf.PT_LOAD), "build it for amd64 or arm64"},
	} {
		program := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Image{Reference: "localhost/fairlead:one", Programs: []string{program}, Stage: &Stage{}}.WriteFile(filepath.Join(t.TempDir(), "image.tar"))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := both(t)
	for says, programs := range map[string][]string{"no program is given": nil, "a second program for amd64": {twice[0], twice[0]}} {
		_, err := Image{Reference: "localhost/fairlead:one", Programs: programs, Stage: &Stage{}}.WriteFile(filepath.Join(t.TempDir(), "image.tar"))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want it to say %q", err, says)
		}
	}
}

// executable is the smallest file that says of itself that it is a program with one part.
func executable(machine elf.Machine, part elf.ProgType) []byte {
	var content bytes.Buffer
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01") // 64 bits, the lower byte first
	_ = binary.Write(&content, binary.LittleEndian, header)
	_ = binary.Write(&content, binary.LittleEndian, elf.Prog64{Type: uint32(part)})
	return content.Bytes()
}
