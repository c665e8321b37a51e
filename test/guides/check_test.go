// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// noCommands are the languages of blocks in which nothing is to be run or applied. Other tests compare most of them.
var noCommands = []string{"", "go", "json", "mermaid", "promql", "sql", "text"}

var namespace = regexp.MustCompile(`\bnamespace: ?([a-z0-9-]+)`)

// check returns why a block of another language than console does not do what a reader would do with it: build it as a
// kustomization, give it to the operator as its configuration, also where it is a value of the chart, merge it into the last
// manifest, or apply it, which is tried by a dry run at the API server.
func (r *reader) check(s step) error {
	switch {
	case slices.Contains(noCommands, s.language):
		return nil
	case s.language == "sh":
		return r.try("%s", s.block)
	case s.language != "yaml":
		return fmt.Errorf("a block of %s is neither run nor listed", s.language)
	}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(strings.Split(s.block, "\n---\n")[0]), &fields); err != nil {
		return err
	}
	const file = "block.yaml"
	if files := s.files(); len(files) > 0 && filepath.Base(files[0]) == "kustomization.yaml" {
		r.write(files[0], s.block)
		return r.try("kubectl kustomize %s", filepath.Dir(files[0]))
	} else if len(files) > 0 && fields["apiVersion"] == "kustomize.fairlead.dev/v1" {
		return nil // for the kustomization of the same page, which is built
	}
	switch kind := fields["kind"]; {
	case kind == nil && fields["spec"] != nil:
		r.write("last.yaml", r.last)
		r.write(file, s.block)
		return r.try("kubectl patch --local -f last.yaml --type=merge --patch-file=%s -o yaml > patched.yaml && "+
			"kubectl apply --server-side --force-conflicts --dry-run=server -f patched.yaml", file)
	case kind == nil || kind == "FairleadConfiguration":
		text := s.block
		if values, is := fields["configuration"]; is && kind == nil && len(fields) == 1 { // of the chart
			inner, err := yaml.Marshal(values)
			if err != nil {
				return err
			}
			text = string(inner)
		}
		if kind == nil {
			text = "apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n" + text
		}
		r.write(file, text)
		_, err := options.Load(filepath.Join(r.folder, file))
		return err
	}
	for _, n := range namespace.FindAllStringSubmatch(s.block, -1) {
		err := r.Client.Create(r.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n[1]}})
		if err := client.IgnoreAlreadyExists(err); err != nil {
			return err
		}
	}
	r.last = s.block
	r.write(file, s.block)
	return r.try("kubectl apply --server-side --force-conflicts --dry-run=server -f %s", file)
}

// try returns what a script says that fails.
func (r *reader) try(format string, args ...any) error {
	output, err := r.bash(r.Context(), fmt.Sprintf(format, args...))
	if err != nil {
		return errors.Join(err, errors.New(output))
	}
	return nil
}

var named = regexp.MustCompile(`^# ([\w./-]+\.yaml)(?:; the same for (\w+))?`)

// files are those that the first line of a block names.
func (s step) files() []string {
	names := named.FindStringSubmatch(s.block)
	switch {
	case names == nil || s.language != "yaml":
		return nil
	case names[2] == "":
		return names[1:2]
	}
	return []string{names[1], filepath.Join(names[2], filepath.Base(names[1]))}
}
