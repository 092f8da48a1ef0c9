/** The box that says what an envelope would do (`envelope_box.js` works it). */
export const ENVELOPE_BOX = `<form id="envelope-box" class="box">
<label for="envelope">An envelope (XDR in base64), or the whole answer of prepare</label>
<textarea id="envelope" rows="5" spellcheck="false" autocomplete="off" placeholder="AAAAAgAAAAB…"></textarea>
<label for="envelope-passphrase">Passphrase of the network</label>
<input id="envelope-passphrase" spellcheck="false" autocomplete="off" value="Test SDF Network ; September 2015">
<output id="envelope-says" for="envelope envelope-passphrase">Nothing leaves this page: it is read here.</output>
</form>
`;
