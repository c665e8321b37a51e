// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
)

const (
	// domain is the suffix of all API groups of Fairlead.
	domain = "fairlead.dev"
	// maxNested bounds lists within lists.
	maxNested = 4
)

// checkDocument finds the objects in a document and checks them.
func (v *Vet) checkDocument(ctx context.Context, part manifest.Part, parsed manifest.Reading) document {
	if p := parsed.Err; p != nil {
		finding := Finding{Severity: Error, Rule: Rule(p.Rule), Line: p.Line, Column: p.Column, Message: p.Message}
		if isTemplated(part) {
			finding.Message = v.templateMessage()
		}
		if !bytes.Contains(part.Text, []byte(domain)) {
			// Folders also have templates and other files.
			finding.Severity = Warning
			finding.Message += " (skipped: it does not mention " + domain + ")"
		}
		return document{objects: []result{{Object: Object{Line: p.Line, Findings: []Finding{finding}}}}}
	}
	d := document{templated: isTemplated(part)}
	v.checkNode(ctx, &d, parsed.Root, schema.GroupVersionKind{}, 0)
	return d
}

// isTemplated reports whether a text has actions of a Helm template.
func isTemplated(part manifest.Part) bool { return bytes.Contains(part.Text, []byte("{{")) }

func (v *Vet) templateMessage() string {
	return "looks like a Helm template: run `helm template . | " + v.program + " vet -` instead"
}

// checkNode checks what a node is, or what its items are; items of a typed list may leave to it what
// they are.
func (v *Vet) checkNode(ctx context.Context, d *document, node *manifest.Node, implied schema.GroupVersionKind, nested int) {
	apiVersion, name := node.Text("apiVersion"), node.Text("kind")
	if implied.Kind != "" && apiVersion == "" && name == "" {
		apiVersion, name = implied.GroupVersion().String(), implied.Kind
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		gv = schema.GroupVersion{Group: apiVersion}
	}
	if items := node.Get("items"); items != nil && items.Kind == manifest.Sequence && nested < maxNested {
		if item, list := strings.CutSuffix(name, "List"); list && v.hasList(gv.Group, item) {
			for _, child := range items.Items {
				v.checkNode(ctx, d, child, gv.WithKind(item), nested+1)
			}
			return
		}
	}
	object := newObject(node, apiVersion, name)
	if known := v.kinds[schema.GroupKind{Group: gv.Group, Kind: name}]; known != nil {
		c := &objectCheck{result: result{Object: object, kind: known}, node: node, version: gv.Version, served: v.stored[known.GroupKind]}
		if d.templated {
			c.template = v.templateMessage()
		}
		c.run(ctx)
		d.objects = append(d.objects, c.result)
		return
	}
	if checkConfiguration(&object, node, gv.WithKind(name)) {
		d.objects = append(d.objects, result{Object: object, configuration: true})
		return
	}
	if message := v.typeMessage(gv, name); message != "" {
		at, _ := node.Find("apiVersion")
		object.Findings = []Finding{{Severity: Error, Rule: RuleAPIVersion, Line: at.Line, Column: at.Column, Field: "apiVersion",
			Message: message}}
		d.objects = append(d.objects, result{Object: object})
		return
	}
	d.otherKinds++
}

// hasList reports whether a list of a kind is looked into: those of our kinds, and the List that kubectl writes.
func (v *Vet) hasList(group, kind string) bool {
	return group == "" && kind == "" || v.kinds[schema.GroupKind{Group: group, Kind: kind}] != nil
}

func newObject(node *manifest.Node, apiVersion, kind string) Object {
	object := Object{Line: node.Line, APIVersion: apiVersion, Kind: kind}
	if metadata := node.Get("metadata"); metadata != nil {
		object.Namespace, object.Name = metadata.Text("namespace"), metadata.Text("name")
		if object.Name == "" && metadata.Text("generateName") != "" {
			object.Name = metadata.Text("generateName") + "*"
		}
	}
	return object
}

// typeMessage returns what is wrong with a type that is none of ours, and was meant to be.
func (v *Vet) typeMessage(gv schema.GroupVersion, name string) string {
	var ours, groups []string
	for _, k := range v.all {
		ours = append(ours, k.Group+"/"+hub+" "+k.Kind)
		if k.Kind == name {
			groups = append(groups, k.Group)
		}
	}
	switch {
	case name == "" && gv.Group == "":
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

// ignoreComments are the comments of a document that disable checks:
//
//	# fairlead:ignore            before its first field: the document is not checked
//	# fairlead:ignore FL1604     before its first field: nor is this, anywhere in the document
//	zone: a # fairlead:ignore    behind a field, or on a line of its own above it: nor is this line
type ignoreComments struct {
	all      bool
	ids      []string         // of the document
	lines    map[int][]string // by line; nothing in the list: all ids
	findings []Finding        // ids that there are not
}

var ignoreComment = regexp.MustCompile(`(^|[ \t])#[ \t]*fairlead:ignore(?:[ \t]+(.*?))?[ \t\r]*$`)

// parseIgnore reads the comments of a document.
func parseIgnore(part manifest.Part) ignoreComments {
	var i ignoreComments
	if !bytes.Contains(part.Text, []byte("fairlead:ignore")) {
		return i
	}
	number, begun := part.Line, false
	for line := range bytes.Lines(part.Text) {
		text := strings.TrimRight(string(line), "\n")
		bare := strings.TrimSpace(text)
		comment := strings.HasPrefix(bare, "#")
		if found := ignoreComment.FindStringSubmatch(text); found != nil {
			i.add(found[2], number, comment, begun)
		}
		begun = begun || bare != "" && !comment && !strings.HasPrefix(bare, "---") && !strings.HasPrefix(bare, "%")
		number++
	}
	return i
}

func (i *ignoreComments) add(names string, line int, alone, begun bool) {
	ids := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	for n, id := range ids {
		if known, ok := Known(id); ok {
			ids[n] = known.ID
			continue
		}
		i.findings = append(i.findings, Finding{Severity: Warning, Rule: RuleIgnore, Line: line, Column: 1,
			Message: fmt.Sprintf("fairlead:ignore names %.32q, which is no rule; %s lists them", id, Pages)})
	}
	switch {
	case !begun && len(ids) == 0:
		i.all = true
	case !begun:
		i.ids = append(i.ids, ids...)
	default:
		if alone {
			line++
		}
		if i.lines == nil {
			i.lines = map[int][]string{}
		}
		i.lines[line] = ids
	}
}

// hides reports whether a finding, with its id set, is not reported.
func (i *ignoreComments) hides(f *Finding) bool {
	if slices.Contains(i.ids, f.ID) {
		return true
	}
	ids, has := i.lines[f.Line]
	return has && (len(ids) == 0 || slices.Contains(ids, f.ID))
}
