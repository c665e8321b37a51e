// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/test/image"
)

const root = "../.."

var at = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestNotesAreTheSectionOfTheVersion(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\n- next ([guide](docs/a.md#b)), [site](https://example.com/c)\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- two\n\n## 0.1.0\n\n- one\n\n## 0.0.9\n"
	for version, want := range map[string]string{
		"v0.2.0": "### Added\n\n- two\n", "v0.1.0": "- one\n", "v0.3.0-rc.1": "- next ([guide](https://github.com/fairlead-dev/fairlead/blob/v0.3.0-rc.1/docs/a.md#b)), [site](https://example.com/c)\n",
	} {
		if got, err := notes(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", version, got, err, want)
		}
	}
	for version, says := range map[string]string{
		"v0.3.0": `no section "## 0.3.0"`, "v0.0.9": "nothing about v0.0.9", "v0.2": "nothing about",
	} {
		if got, err := notes(strings.ReplaceAll(changelog, "- next ([guide](docs/a.md#b)), [site](https://example.com/c)", ""), version); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q, %v; want it to say %q", version, got, err, says)
		}
	}
	ours, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := notes(string(ours), "v0.0.0-check"); err != nil || !strings.Contains(text, "### Added") || strings.Contains(text, "](docs/") {
		t.Errorf("of the repository's own: %q, %v", text, err)
	}
}

func TestAnArchiveUnpacksToTheSameFiles(t *testing.T) {
	entries := []image.Entry{{Name: "LICENSE", Mode: 0o644, Content: []byte("text")}, {Name: "fairlead", Mode: 0o755, Content: []byte("program")}}
	for _, p := range Platforms() {
		var made [2][]byte
		for n := range made {
			file := filepath.Join(t.TempDir(), archiveName(p))
			if err := writeArchive(file, p, entries, at); err != nil {
				t.Fatal(err)
			}
			made[n], _ = os.ReadFile(file)
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s: two archives of the same differ", p)
		}
		unpack := untar
		if p.OS == "windows" {
			unpack = unzip
		}
		if diff := cmp.Diff(entries, unpack(t, made[0])); diff != "" {
			t.Errorf("%s: %s", p, diff)
		}
	}
}

func untar(t *testing.T, content []byte) []image.Entry {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var all []image.Entry
	for in := tar.NewReader(packed); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil || !header.ModTime.Equal(at) {
			t.Fatalf("%v, or another time", err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, image.Entry{Name: header.Name, Mode: header.Mode, Content: content})
	}
}

func unzip(t *testing.T, content []byte) []image.Entry {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var all []image.Entry
	for _, f := range in.File {
		opened, err := f.Open()
		if err != nil || !f.Modified.Equal(at) {
			t.Fatalf("%v, or another time", err)
		}
		content, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, image.Entry{Name: f.Name, Mode: int64(f.Mode().Perm()), Content: content})
	}
	return all
}

// A signed statement is about the files, and about the image and the chart as a registry has them.
func TestTheSubjectsOfTheAttestationAreTheFilesTheImageAndTheChart(t *testing.T) {
	o := Options{Source: &Source{Version: "v1.2.3"}, Out: t.TempDir(), Repository: "registry.example.com/fairlead"}
	files := map[string][]byte{}
	for _, p := range Platforms() {
		files[archiveName(p)] = []byte(p.String())
	}
	digest, chart := strings.Repeat("a", 64), strings.Repeat("b", 64)
	if err := errors.Join(o.write(files), o.finish("sha256:"+digest, "sha256:"+chart)); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(o.Out, "SHA256SUMS"))
	if err != nil || strings.Count(string(sums), "\n") != len(files)+1 { // and the manifest for krew
		t.Fatalf("%s, %v", sums, err)
	}
	attested := map[string]bool{"dist/SHA256SUMS": false}
	for name, want := range map[string]string{
		"SUBJECT-image": digest + "  registry.example.com/fairlead\n", "SUBJECT-chart": chart + "  registry.example.com/charts/fairlead\n",
	} {
		attested["dist/"+name] = false
		if subject, err := os.ReadFile(filepath.Join(o.Out, name)); err != nil || string(subject) != want {
			t.Errorf("%s: %s, %v; want %s", name, subject, err, want)
		}
	}
	var release struct {
		Jobs map[string]struct{ Steps []step }
	}
	parse(t, ".github/workflows/release.yaml", &release)
	for _, job := range release.Jobs {
		for _, s := range job.Steps {
			if !strings.HasPrefix(s.Uses, "actions/attest") {
				continue
			}
			of, _ := s.With["subject-checksums"].(string)
			if _, made := attested[of]; !made || (s.With["push-to-registry"] == true) != strings.HasPrefix(of, "dist/SUBJECT-") {
				t.Errorf("the workflow attests to %v", s.With)
			}
			if sbom := s.With["sbom-path"]; sbom != nil && sbom != "dist/"+sbomFile {
				t.Errorf("the SBOM is %s, and not %v", sbomFile, sbom)
			}
			attested[of] = true
		}
	}
	for of, is := range attested {
		if !is {
			t.Errorf("the workflow does not attest to %s", of)
		}
	}
}

func TestKrewKnowsEachArchiveByItsChecksum(t *testing.T) {
	sums := map[string]string{}
	for n, p := range Platforms() {
		sums[archiveName(p)] = strings.Repeat(string(rune('a'+n)), 64)
	}
	text, err := krew("v1.2.3", "https://example.com/v1.2.3/", sums)
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version                       string
			ShortDescription, Description string
			Platforms                     []struct {
				Selector struct{ MatchLabels map[string]string }
				URI      string
				SHA256   string
				Bin      string
				Files    []struct{ From, To string }
			}
		}
	}
	if err := yaml.Unmarshal(text, &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || plugin.Kind != "Plugin" || len(plugin.Spec.ShortDescription) > 50 ||
		plugin.Metadata.Name != "fairlead" || plugin.Spec.Version != "v1.2.3" || len(plugin.Spec.Platforms) != 6 {
		t.Errorf("%s", text)
	}
	for _, verb := range []string{"status", "why", "restart", "retry", "run", "failback", "fault", "drain", "rotate-ca"} {
		if !strings.Contains(plugin.Spec.Description, verb) {
			t.Errorf("%s is not described", verb)
		}
	}
	for _, p := range plugin.Spec.Platforms {
		name := archiveName(Platform{p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]})
		if p.URI != "https://example.com/v1.2.3/"+name || p.SHA256 != sums[name] || p.Files[0].From != p.Bin || len(p.SHA256) != 64 {
			t.Errorf("%+v", p)
		}
	}
}

func TestAReleaseMayBeForSomePlatforms(t *testing.T) {
	some, err := ParsePlatforms([]string{"darwin-arm64", "linux-arm64"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Source: &Source{Version: "v1.2.3"}, Platforms: some}
	if got := o.imagePrograms(map[string]string{"darwin-arm64": "a", "linux-arm64": "b"}); len(got) != 1 || got[0] != "b" {
		t.Errorf("the programs of the image are %q", got)
	}
	text, err := krew("v1.2.3", "https://example.com/", map[string]string{archiveName(some[0]): "a", archiveName(some[1]): "b"})
	if err != nil || strings.Count(string(text), "uri:") != 2 {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := ParsePlatforms([]string{"linux/amd64"}); err == nil || !strings.Contains(err.Error(), `"linux/amd64": there are [linux-amd64 `) {
		t.Errorf("another name: %v", err)
	}
	o.Platforms = some[:1]
	if err := Write(t.Context(), o); err == nil || !strings.Contains(err.Error(), "add linux-amd64") {
		t.Errorf("without Linux: %v", err)
	}
}

// The SBOM of this test's own program replaces that of the operator: it is made from what Go recorded.
func TestTheSBOMHasTheModulesThatWereLinked(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/fairlead")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	s := &Source{Root: root, Version: "v1.2.3", Commit: "c", Date: at}
	var made [2][]byte
	for n := range made {
		var err error
		if made[n], err = s.sbom(context.Background(), program); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two of the same differ")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(made[0]), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	refs := map[string]bool{bom.Metadata.Component.BOMRef: true}
	for _, c := range *bom.Components {
		if refs[c.BOMRef] || c.Version == "" || !strings.HasPrefix(c.PackageURL, "pkg:golang/") {
			t.Errorf("%+v", c)
		}
		refs[c.BOMRef] = true
	}
	modules, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "google.golang.org/grpc", "github.com/miekg/dns"} {
		_, rest, _ := strings.Cut(string(modules), of+" ")
		version, _, _ := strings.Cut(rest, "\n")
		if !refs["pkg:golang/"+of+"@"+strings.TrimSuffix(version, " // indirect")] {
			t.Errorf("lacks %s at %q", of, version)
		}
	}
	depends := map[string][]string{}
	for _, d := range *bom.Dependencies {
		if d.Dependencies != nil {
			depends[d.Ref] = *d.Dependencies
		}
		for _, on := range append(slices.Clone(depends[d.Ref]), d.Ref) {
			if !refs[on] {
				t.Errorf("%s is no component", on)
			}
		}
	}
	if len(*bom.Dependencies) != len(refs) {
		t.Errorf("%d of %d modules say what they require", len(*bom.Dependencies), len(refs))
	}
	if n := len(depends[bom.Metadata.Component.BOMRef]); n < 20 {
		t.Errorf("the program depends on %d modules", n)
	}
}

func TestWhatIsNoReleaseIsRefusedBeforeAnythingIsBuilt(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, out, says string }{
		{"1.2.3", t.TempDir(), "want v, three numbers"},
		{"v1.2", t.TempDir(), "want v, three numbers"},
		{"latest", t.TempDir(), "want v, three numbers"},
		{"v1.2.3+build", t.TempDir(), "want v, three numbers"}, // no tag of an image
		{"v1.2.3-rc.1", full, "is not empty"},
		{"v99.0.0", t.TempDir(), `no section "## 99.0.0"`},
	} {
		err := Write(context.Background(), Options{Source: &Source{Root: root, Version: c.version}, Out: c.out, Repository: "example.com/fairlead"})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", c.version, err, c.says)
		}
	}
}

func TestACheckoutThatIsNotTheReleaseIsRefused(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	git := func(arguments ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.hooksPath=/dev/null"}, arguments...)...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_COMMITTER_DATE=2026-11-23T13:00:00+01:00")
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, said)
		}
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("one")
	git("add", "file")
	git("commit", "-q", "-m", "one")
	s, err := Checkout(context.Background(), folder, "v1.2.3")
	if err != nil || len(s.Commit) != 40 || !s.Date.Equal(at) || s.Date.Location() != time.UTC {
		t.Errorf("%+v, %v", s, err)
	}
	refused := func(why, says string) {
		t.Helper()
		if _, err := Checkout(context.Background(), folder, "v1.2.3"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %q", why, err, says)
		}
	}
	write("two")
	refused("a changed file", "not committed")
	git("checkout", "-q", "file")
	unknown := filepath.Join(folder, "unknown.go") // Go would compile it
	if err := os.WriteFile(unknown, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a file that Git does not know", "not committed")
	if err := os.Remove(unknown); err != nil {
		t.Fatal(err)
	}
	git("tag", "-a", "-m", "one", "v1.2.3")
	if _, err := Checkout(context.Background(), folder, "v1.2.3"); err != nil {
		t.Errorf("at its tag: %v", err)
	}
	write("two")
	git("commit", "-q", "-m", "two", "file")
	refused("a tag elsewhere", "the tag v1.2.3 is not at the commit")
}
