// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/fairlead-dev/fairlead/test/image"
)

// Options say what is released, and where it will be found.
type Options struct {
	*Source
	// Out is the folder that is written to. It must be empty or not exist.
	Out string
	// Repository is the image's, without a tag.
	Repository string
	// Platforms are those that programs are built for, one of Linux at least, for the image. Empty means all.
	Platforms []Platform
}

// ImageArchive is the name of the image's archive.
const ImageArchive = "fairlead-image.tar"

// sbomFile is the name of the SBOM.
const sbomFile = "fairlead.cdx.json"

// Write writes a release.
func Write(ctx context.Context, o Options) error {
	if _, err := version.ParseSemantic(o.Version); err != nil || !strings.HasPrefix(o.Version, "v") || strings.Contains(o.Version, "+") {
		return fmt.Errorf("version %q: want v, three numbers and perhaps a suffix, such as v0.1.0 or v0.1.0-rc.1", o.Version)
	}
	if there, _ := os.ReadDir(o.Out); len(there) > 0 {
		return fmt.Errorf("%s is not empty: remove what is in it, since each file of it would be released", o.Out)
	}
	if len(o.Platforms) == 0 {
		o.Platforms = Platforms()
	}
	if len(o.linux()) == 0 {
		return errors.New("there is no image without a program for Linux: add linux-amd64 or linux-arm64 to the platforms")
	}
	changelog, err := os.ReadFile(filepath.Join(o.Root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	about, err := notes(string(changelog), o.Version) // first, since it is soon forgotten
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Out, 0o750); err != nil {
		return err
	}
	built, err := os.MkdirTemp("", "fairlead-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(built) }()
	programs, err := o.archives(ctx, built)
	if err != nil {
		return err
	}
	digest, err := o.Image(filepath.Join(o.Out, ImageArchive), o.Repository, o.imagePrograms(programs)...)
	if err != nil {
		return err
	}
	chart, err := run(ctx, filepath.Join(o.Root, "test", "chart"), nil, "go", "run", "-trimpath", "./cmd/dist", "--config="+filepath.Join(o.Root, "config"),
		"--out="+o.Out, "--version="+o.Version, "--image="+o.Repository, "--digest="+digest)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(o.Out, "fairlead")); err != nil { // the chart, which is packed
		return err
	}
	files, err := schemas(filepath.Join(o.Root, "config", "crd", "bases"))
	if err != nil {
		return err
	}
	if files[sbomFile], err = o.sbom(ctx, slices.Sorted(maps.Values(programs))...); err != nil {
		return err
	}
	files["NOTES.md"] = fmt.Appendf(nil, "%s\n## Image\n\n`%s:%s@%s`, for %s, from commit %s.\n", about, o.Repository, o.Version, digest,
		strings.ReplaceAll(strings.Join(o.linux(), " and "), "-", "/"), o.Commit)
	if err := o.write(files); err != nil {
		return err
	}
	return o.finish(digest, chart)
}

// linux are the platforms of the image.
func (o Options) linux() (names []string) {
	for _, p := range o.Platforms {
		if p.OS == "linux" {
			names = append(names, p.String())
		}
	}
	return names
}

// imagePrograms are the files of the image's programs.
func (o Options) imagePrograms(all map[string]string) (files []string) {
	for _, name := range o.linux() {
		files = append(files, all[name])
	}
	return files
}

// Image writes the image's archive and returns its digest.
func (s *Source) Image(file, repository string, programs ...string) (string, error) {
	stage, err := image.Dockerfile(filepath.Join(s.Root, "Dockerfile"), map[string]string{"VERSION": s.Version, "COMMIT": s.Commit})
	if err != nil {
		return "", err
	}
	return image.Image{Reference: repository + ":" + s.Version, Stage: stage, Programs: programs, Created: s.Date}.WriteFile(file)
}

// archives builds the programs and packs each. It returns where they are.
func (o Options) archives(ctx context.Context, folder string) (map[string]string, error) {
	license, err := os.ReadFile(filepath.Join(o.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	programs := map[string]string{}
	for _, p := range o.Platforms {
		file := filepath.Join(folder, p.String())
		if err := o.Build(ctx, p, file); err != nil {
			return nil, err
		}
		programs[p.String()] = file
		program, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		entries := []image.Entry{{Name: "LICENSE", Mode: 0o644, Content: license}, {Name: programName(p), Mode: 0o755, Content: program}}
		if err := writeArchive(filepath.Join(o.Out, archiveName(p)), p, entries, o.Date); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// finish writes what speaks of the other files, and of the image and the chart by the digests that registries have them by.
func (o Options) finish(digest, chart string) error {
	files, err := sums(o.Out)
	if err != nil {
		return err
	}
	plugin, err := krew(o.Version, "https://"+module+"/releases/download/"+o.Version+"/", files)
	if err != nil {
		return err
	}
	if err := o.write(map[string][]byte{"fairlead-krew.yaml": plugin}); err != nil {
		return err
	}
	if files, err = sums(o.Out); err != nil {
		return err
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&list, "%s  %s\n", files[name], name)
	}
	// What a registry serves is found by a digest that is not the checksum of a file.
	subject := func(digest, name string) []byte {
		return fmt.Appendf(nil, "%s  %s\n", strings.TrimPrefix(digest, "sha256:"), name)
	}
	return o.write(map[string][]byte{
		"SHA256SUMS": list.Bytes(), "SUBJECT-image": subject(digest, o.Repository),
		"SUBJECT-chart": subject(chart, path.Join(path.Dir(o.Repository), "charts", "fairlead")),
	})
}

func (o Options) write(files map[string][]byte) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(o.Out, name), content, 0o644); err != nil { //nolint:gosec // they are published
			return err
		}
	}
	return nil
}

// sums are the SHA-256 checksums of all files of a folder by their names.
func sums(folder string) (map[string]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		all[e.Name()] = hex.EncodeToString(sum[:])
	}
	return all, nil
}
