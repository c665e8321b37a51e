// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists, in CycloneDX's JSON, the modules that were linked into the programs, by what Go recorded in them,
// and which of them requires which. Licenses are not told.
func (s *Source) sbom(ctx context.Context, programs ...string) ([]byte, error) {
	linked := map[string]string{} // path: version
	sums := map[string]string{}
	var toolchain string
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		toolchain = strings.TrimPrefix(info.GoVersion, "go")
		for _, m := range info.Deps {
			if m.Replace != nil {
				return nil, fmt.Errorf("%s: %s is replaced, which no user of it could see", program, m.Path)
			}
			linked[m.Path], sums[m.Path] = m.Version, m.Sum
		}
	}
	graph, err := run(ctx, s.Root, nil, "go", "mod", "graph")
	if err != nil {
		return nil, err
	}
	purl := func(path string) string { return "pkg:golang/" + path + "@" + linked[path] }
	self := "pkg:golang/" + module + "@" + s.Version
	standard := "pkg:golang/std@" + toolchain
	requires := map[string]map[string]bool{self: {standard: true}, standard: {}}
	for path := range linked {
		requires[purl(path)] = map[string]bool{} // an entry without modules says that it requires none
	}
	for line := range strings.Lines(graph) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		from, _, _ = strings.Cut(from, "@")
		to, _, _ = strings.Cut(to, "@")
		ref := self
		if from != module {
			ref = purl(from)
		}
		if linked[to] == "" || (from != module && linked[from] == "") {
			continue // not linked
		}
		requires[ref][purl(to)] = true
	}
	components := []cdx.Component{{BOMRef: standard, Type: cdx.ComponentTypeLibrary, Name: "std", Version: toolchain, PackageURL: standard}}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		components = append(components, cdx.Component{
			BOMRef: purl(path), Type: cdx.ComponentTypeLibrary, Name: path, Version: linked[path], PackageURL: purl(path),
			Properties: &[]cdx.Property{{Name: "go.sum", Value: sums[path]}},
		})
	}
	var dependencies []cdx.Dependency
	for _, ref := range slices.Sorted(maps.Keys(requires)) {
		on := slices.Sorted(maps.Keys(requires[ref]))
		dependencies = append(dependencies, cdx.Dependency{Ref: ref, Dependencies: &on})
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(s.Version + " " + s.Commit)
	bom.Metadata = &cdx.Metadata{
		Timestamp: s.Date.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: self, Type: cdx.ComponentTypeApplication, Name: module, Version: s.Version, PackageURL: self,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}

// serial is an identifier of the form that CycloneDX wants, the same for the same text.
func serial(of string) string {
	sum := sha256.Sum256([]byte(of))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
