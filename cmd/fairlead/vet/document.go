// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

const (
	// domain is what the groups of Fairlead end with.
	domain = "fairlead.dev"
	// configuration is the group of the operator's own configuration file, which is no object.
	configuration = "config." + domain
	// maxNested bounds lists within lists.
	maxNested = 4
)

// document finds the objects in a document and checks them.
func (v *Vet) document(ctx context.Context, part manifest.Part, parsed manifest.Reading) document {
	if p := parsed.Err; p != nil {
		finding := Finding{Severity: Error, Rule: Rule(p.Rule), Line: p.Line, Column: p.Column, Message: p.Message}
		if templated(part) {
			finding.Message = v.template()
		}
		if !bytes.Contains(part.Text, []byte(domain)) {
			// Folders hold templates and more; they are not ours to judge.
			finding.Severity = Warning
			finding.Message += " (skipped: it does not mention " + domain + ")"
		}
		return document{objects: []checked{{Object: Object{Line: p.Line, Findings: []Finding{finding}}}}}
	}
	d := document{templated: templated(part)}
	v.collect(ctx, &d, parsed.Root, schema.GroupVersionKind{}, 0)
	return d
}

// templated says that a text has what templates of Helm have.
func templated(part manifest.Part) bool { return bytes.Contains(part.Text, []byte("{{")) }

func (v *Vet) template() string {
	return "looks like a Helm template: run `helm template . | " + v.program + " vet -` instead"
}

// collect checks what a node is, or what its items are; items of a typed list may leave to it what
// they are.
func (v *Vet) collect(ctx context.Context, d *document, node *manifest.Node, implied schema.GroupVersionKind, nested int) {
	apiVersion, name := node.Text("apiVersion"), node.Text("kind")
	if implied.Kind != "" && apiVersion == "" && name == "" {
		apiVersion, name = implied.GroupVersion().String(), implied.Kind
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		gv = schema.GroupVersion{Group: apiVersion}
	}
	if items := node.Get("items"); items != nil && items.Kind == manifest.Sequence && nested < maxNested {
		item, list := strings.CutSuffix(name, "List")
		if known := v.kinds[schema.GroupKind{Group: gv.Group, Kind: item}]; list && (known != nil || item == "" && gv.Group == "") {
			for _, child := range items.Items {
				v.collect(ctx, d, child, gv.WithKind(item), nested+1)
			}
			return
		}
	}
	object := Object{Line: node.Line, APIVersion: apiVersion, Kind: name}
	if metadata := node.Get("metadata"); metadata != nil {
		object.Namespace, object.Name = metadata.Text("namespace"), metadata.Text("name")
		if object.Name == "" && metadata.Text("generateName") != "" {
			object.Name = metadata.Text("generateName") + "*"
		}
	}
	if known := v.kinds[schema.GroupKind{Group: gv.Group, Kind: name}]; known != nil {
		c := &checking{checked: checked{Object: object, kind: known}, node: node, version: gv.Version, served: v.stored[known.GroupKind]}
		if d.templated {
			c.template = v.template()
		}
		c.run(ctx)
		d.objects = append(d.objects, c.checked)
		return
	}
	if message := v.mistaken(gv, name); message != "" {
		at, _ := node.Find("apiVersion")
		object.Findings = []Finding{{Severity: Error, Rule: RuleAPIVersion, Line: at.Line, Column: at.Column, Field: "apiVersion", Message: message}}
		d.objects = append(d.objects, checked{Object: object})
		return
	}
	d.passed++
}

// mistaken says what is wrong with a type that is none of ours, and was meant to be.
func (v *Vet) mistaken(gv schema.GroupVersion, name string) string {
	var ours, groups []string
	for _, k := range v.ours {
		ours = append(ours, k.Group+"/"+hub+" "+k.Kind)
		if k.Kind == name {
			groups = append(groups, k.Group)
		}
	}
	switch {
	case gv.Group == configuration || name == "" && gv.Group == "":
		return ""
	case len(groups) > 0 && gv.Empty():
		return fmt.Sprintf("is missing; that of Fairlead's %s is %s/%s", name, groups[0], hub)
	case gv.Group != domain && !strings.HasSuffix(gv.Group, "."+domain):
		return ""
	case len(groups) > 0:
		return fmt.Sprintf("there is no %s in %q; use %s/%s", name, gv.Group, groups[0], hub)
	}
	return fmt.Sprintf("there is no %q in %q; the kinds are %s", name, gv.Group, strings.Join(ours, ", "))
}
